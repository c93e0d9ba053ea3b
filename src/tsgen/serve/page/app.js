// The page: a search, how its answer was generated, and why a document was found or not.

import * as api from "./api.js";
import { choosePath, go, showBeams, step } from "./beams.js";
import { byId, count } from "./dom.js";
import { markChosen, showHits } from "./results.js";
import { startTheme } from "./theme.js";
import { showKnown, showLost, showWhy } from "./why.js";

let asked = null;
let turn = 0; // of the newest search: answers to older ones are dropped

function tell(text, problem = false) {
  const status = byId("status");
  status.textContent = text;
  status.classList.toggle("problem", problem);
}

function settings() {
  const number = (id) => Number.parseInt(byId(id).value, 10) || null;
  const values = { query: byId("query").value.trim(), k: number("k") ?? 10, beam: number("beam"), where: byId("where").value.trim() || null };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

async function search() {
  asked = settings();
  if (!asked.query) return;
  const mine = (turn += 1);
  tell("Searching …");
  remember();
  for (const id of ["results", "beams", "why"]) byId(id).hidden = true;
  byId("answer").replaceChildren();
  try {
    const result = await api.search(asked);
    if (mine !== turn) return;
    showHits(result, { choose, ask: askWhy });
    const found = result.hits.length ? `${count(result.hits.length, "hit")}.` : "Nothing was found.";
    tell(result.read_as ? `${found} Read as “${result.read_as}”.` : found);
    const trace = await api.trace(asked);
    if (mine !== turn) return;
    showTrace(trace);
  } catch (error) {
    if (mine === turn) tell(error.message, true);
  }
}

function showTrace(trace) {
  showBeams(trace);
  markChosen(trace.hits.length ? 0 : null);
  const hits = new Set(trace.hits.map((hit) => hit.document_id));
  const seen = trace.steps.flatMap(({ hypotheses }) => hypotheses);
  const lost = new Set(seen.filter((one) => one.fate === "pruned").flatMap((one) => one.documents));
  const missed = [...lost].filter((id) => !hits.has(id));
  showKnown([...new Set([...hits, ...missed, ...seen.flatMap((one) => one.documents)])]);
  showLost(missed.slice(0, 8), askWhy);
  byId("why").hidden = false;
}

function choose(rank) {
  choosePath(rank);
  markChosen(rank);
  byId("beams").scrollIntoView({ block: "nearest" });
}

async function askWhy(id) {
  const mine = turn;
  byId("document").value = id;
  byId("answer").replaceChildren("Looking …");
  byId("why").hidden = false;
  byId("why").scrollIntoView({ block: "nearest" });
  try {
    const [found, name] = await Promise.all([api.why(asked, id), api.title(id)]);
    if (mine === turn) showWhy(found, name, searchWith);
  } catch (error) {
    if (mine === turn) byId("answer").replaceChildren(Object.assign(document.createElement("p"), { className: "problem", textContent: error.message }));
  }
}

function searchWith(beam) {
  byId("beam").value = beam;
  byId("settings").open = true;
  byId("query").focus();
  search();
}

// What was asked is in the address, so that it can be sent to someone else.
function remember() {
  const { query, ...others } = asked;
  history.replaceState(null, "", `?${new URLSearchParams({ q: query, ...others })}`);
}

function recall() {
  const given = new URLSearchParams(location.search);
  for (const id of ["k", "beam", "where"]) if (given.has(id)) byId(id).value = given.get(id);
  byId("settings").open = given.has("beam") || given.has("where");
  byId("query").value = given.get("q") ?? "";
  if (byId("query").value) search();
  else byId("query").focus();
}

function listen() {
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); search(); });
  byId("ask-why").addEventListener("submit", (event) => { event.preventDefault(); askWhy(byId("document").value.trim()); });
  byId("step").addEventListener("input", (event) => go(Number(event.target.value)));
  byId("back").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  addEventListener("resize", () => step(0));
  byId("graph").addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    step(by);
  });
}

startTheme(byId("theme"));
listen();
recall();
