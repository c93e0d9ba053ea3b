// Elements without innerHTML: text is always text.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const el = (tag, props = {}, ...children) =>
  fill(document.createElement(tag), props, children);

export const svg = (tag, props = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), props, children);

export const byId = (id) => document.getElementById(id);

export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const figure = (value) => value.toFixed(2).replace("-", "−");
export const logProb = (value) => (value === null ? "–∞" : (value > -0.005 ? 0 : value).toFixed(2).replace("-", "−"));

// The words of a text, those that a query or a path shares with it in <mark>: equal, or of one stem
// as far as a long common beginning shows.
export function marked(text, wanted) {
  const parts = text.split(/([\p{L}\p{N}]+)/u);
  return parts.map((part, i) => (i % 2 && wanted.some((w) => alike(part.toLowerCase(), w)) ? el("mark", {}, part) : part));
}

export const words = (text) => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || []).filter((w) => !STOP.has(w));

const STOP = new Set("a an and are as at be by do does for from how i in is it my of on or that the this to was what when where which who why with".split(" "));

function alike(a, b) {
  if (a === b) return true;
  const shorter = Math.min(a.length, b.length);
  let same = 0;
  while (same < shorter && a[same] === b[same]) same += 1;
  return same >= 4 && Math.max(a.length, b.length) - same <= 3;
}
