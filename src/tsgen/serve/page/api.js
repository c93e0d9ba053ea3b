// The server's endpoints.

export class Problem extends Error {}

async function answer(response) {
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  throw new Problem(body?.error?.message ?? `The server answered with the status ${response.status}.`);
}

// A server with a token for reading asks for it once a tab.
async function ask(path, options = {}) {
  const known = sessionStorage.getItem("token");
  const headers = { ...options.headers, ...(known && { Authorization: `Bearer ${known}` }) };
  const response = await fetch(path, { ...options, headers });
  if (response.status !== 401) return response;
  const given = prompt("This server answers those who know its token for reading. The token:");
  if (!given) return response;
  sessionStorage.setItem("token", given.trim());
  return ask(path, options);
}

async function send(path, options) {
  try {
    return await answer(await ask(path, options));
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem("The server cannot be reached. Is it still running?");
  }
}

const post = (path, body) =>
  send(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export const search = async (asked) => (await post("/search", { ...asked, explain: true })).results[0];
export const trace = (asked) => post("/trace", { ...asked, shown: 16 });
export const why = (asked, document) => post("/why", { ...asked, document });
export const title = (id) =>
  send(`/documents/${id.split("/").map(encodeURIComponent).join("/")}`).then((found) => found.title, () => "");
