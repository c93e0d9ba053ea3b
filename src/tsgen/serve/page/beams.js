// The beams step by step: a picture, a stepper, and the hypotheses of the step as a table.

import { byId, count, el, logProb, svg } from "./dom.js";

const ROW = 32, HEIGHT = 24, TOP = 30, ROOT = 62, KEPT = 7, PRUNED = 2;
const NARROW = 104, WIDE = 156, GAP = 20; // of a column, and between two nodes
const LETTER = 7; // about the width of one

let trace = null, chosen = null, now = 0;
let columnWidth = WIDE;

export function showBeams(found) {
  trace = found;
  now = 0;
  byId("step").max = found.steps.length;
  byId("beams-about").textContent =
    `Any term of any document may come first. After each term at most ${found.beam} hypotheses go on, the best ones; ` +
    "what may come next are the terms of the documents that hold all terms so far.";
  byId("beams").hidden = false;
  choosePath(found.paths.length ? 0 : null);
}

// Light the path of a hit, by rank; the step with its last generated term comes into view.
export function choosePath(rank) {
  chosen = rank;
  go(path().length || 1);
}

export function go(step) {
  if (!trace) return;
  now = Math.max(0, Math.min(step, trace.steps.length));
  const slider = byId("step");
  slider.value = now;
  slider.setAttribute("aria-valuetext", now ? `after ${count(now, "term")}` : "before the first term");
  byId("back").disabled = now === 0;
  byId("next").disabled = now === trace.steps.length;
  byId("step-text").replaceChildren(...sentence());
  byId("graph").replaceChildren(picture());
  byId("hypotheses").replaceChildren(...table());
  reveal();
}

export const step = (by) => go(now + by);

const path = () => (chosen === null ? [] : trace.paths[chosen] ?? []);
const lit = (number, place) => path()[number] === place;

function ancestry(number, place) {
  const terms = [];
  for (let n = number, p = place; n >= 0; n -= 1) {
    const one = trace.steps[n].hypotheses[p];
    terms.unshift(one.term);
    p = one.parent;
  }
  return terms;
}

function sentence() {
  if (now === 0) return [`Before the first term: all ${count(trace.documents, "document")} are valid.`];
  const { hypotheses, stayed, on } = trace.steps[now - 1];
  const done = stayed - on ? `, ${(stayed - on).toLocaleString("en")} came to their end` : "";
  const kept = `After ${count(now, "term")}: ${count(on, "hypothesis goes", "hypotheses go")} on${done}. `;
  const place = path()[now - 1];
  if (place === undefined) return [kept + (path().length ? "The chosen hit was decided before." : "")];
  const one = hypotheses[place];
  return [kept, "The chosen hit’s term is ", el("strong", {}, one.term),
    `, log p\u00a0${logProb(one.log_prob)}, with ${count(one.valid_documents, "document")} left.`];
}

// Of each step the best hypotheses, the chosen path, and the first that were pruned.
function column(number) {
  const places = trace.steps[number].hypotheses.map((one, place) => ({ one, place }));
  const stayed = places.filter(({ one }) => one.fate !== "pruned");
  const shown = stayed.slice(0, KEPT);
  const on = stayed.find(({ place }) => lit(number, place));
  if (on && !shown.includes(on)) shown.push(on);
  const pruned = places.filter(({ one }) => one.fate === "pruned").sort((a, b) => b.one.score - a.one.score);
  return { shown, more: trace.steps[number].stayed - shown.length, pruned: pruned.slice(0, PRUNED) };
}

// All columns fit into the picture's frame if they can; else it scrolls.
function fit() {
  const room = byId("graph").clientWidth - 12 - ROOT;
  columnWidth = Math.max(NARROW, Math.min(WIDE, Math.floor(room / Math.max(1, trace.steps.length))));
}

const left = (number) => ROOT + number * columnWidth + GAP;
const nodeWidth = () => columnWidth - GAP;

function picture() {
  fit();
  const columns = trace.steps.map((_, number) => column(number));
  const rows = Math.max(1, ...columns.map((c) => c.shown.length + c.pruned.length + (c.pruned.length ? 0.6 : 0) + (c.more > 0 ? 0.6 : 0)));
  const width = ROOT + columns.length * columnWidth + 2, height = TOP + rows * ROW + 8;
  const nodes = [], edges = [], at = new Map();
  nodes.push(node(1, TOP, ROOT, "all", trace.documents, path().length ? "lit" : ""));
  columns.forEach(({ shown, more, pruned }, number) => {
    const x = left(number);
    const state = number + 1 === now ? "now" : number + 1 > now ? "later" : "";
    nodes.push(svg("text", { x: x + 4, y: 16, class: `head ${state}` }, `term ${number + 1}`));
    let y = TOP;
    const draw = ({ one, place }, kind) => {
      const on = lit(number, place);
      at.set(`${number}:${place}`, [x + nodeWidth(), y + HEIGHT / 2]);
      const from = number ? at.get(`${number - 1}:${one.parent}`) : [ROOT + 1, TOP + HEIGHT / 2];
      if (from) edges.push(edge(from, [x, y + HEIGHT / 2], `${kind} ${on ? "lit" : ""} ${state}`));
      nodes.push(node(x, y, nodeWidth(), one.term, one.valid_documents,
        `${kind} ${on ? "lit" : ""} ${state} ${one.found.length ? "found" : ""}`));
      y += ROW;
    };
    shown.forEach((item) => draw(item, ""));
    if (more > 0) {
      nodes.push(svg("text", { x: x + 4, y: y + 10, class: `more ${state}` }, `and ${more.toLocaleString("en")} more`));
      y += ROW * 0.6;
    }
    if (pruned.length) {
      nodes.push(svg("line", { x1: x, x2: x + nodeWidth(), y1: y + 4, y2: y + 4, class: `cut ${state}` }));
      y += ROW * 0.6 - 6;
      pruned.forEach((item) => draw(item, "pruned"));
    }
  });
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    svg("g", {}, ...edges.sort(byLight)), svg("g", {}, ...nodes));
}

const byLight = (a, b) => a.classList.contains("lit") - b.classList.contains("lit");

function edge([x1, y1], [x2, y2], kind) {
  const bend = (x2 - x1) / 2;
  return svg("path", { class: `edge ${kind}`, d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
}

function node(x, y, width, term, valid, kind) {
  const figures = valid.toLocaleString("en");
  const room = Math.floor((width - 26) / LETTER) - figures.length;
  const shown = term.length > room ? `${term.slice(0, Math.max(1, room - 1))}…` : term;
  return svg("g", { class: `node ${kind}`, transform: `translate(${x} ${y})` },
    svg("title", {}, `${term}: ${count(valid, "document")}`),
    svg("rect", { width, height: HEIGHT, rx: 6 }),
    svg("text", { x: 8, y: 16, class: "term" }, shown),
    svg("text", { x: width - 8, y: 16, class: "valid" }, figures));
}

function table() {
  const head = el("thead", {}, el("tr", {},
    el("th", { scope: "col" }, "Terms so far"),
    ...["log p", "Score"].map((name) => el("th", { scope: "col", class: "figure" }, name)),
    el("th", { scope: "col", class: "figure" }, el("span", { class: "long" }, "Documents "), "left")));
  const caption = el("caption", { class: "hidden-label" }, `Hypotheses after ${count(now, "term")}`);
  if (now === 0) return [caption, head, el("tbody", {}, el("tr", {}, el("td", {}, "∅"), el("td", { class: "figure" }, ""),
    el("td", { class: "figure" }, "0.00"), el("td", { class: "figure" }, trace.documents.toLocaleString("en"))))];
  const { hypotheses, stayed } = trace.steps[now - 1];
  const places = hypotheses.map((one, place) => ({ one, place })).sort((a, b) => b.one.score - a.one.score);
  const kept = places.filter(({ one }) => one.fate !== "pruned");
  const rows = kept.map(line);
  if (stayed > kept.length) rows.push(note(`and ${count(stayed - kept.length, "more hypothesis", "more hypotheses")}`));
  const pruned = places.filter(({ one }) => one.fate === "pruned");
  if (pruned.length) rows.push(note("the edge of the beam: pruned below", "edge-row"), ...pruned.map(line));
  return [caption, head, el("tbody", {}, ...rows)];
}

const note = (text, kind = "") => el("tr", { class: kind }, el("td", { colspan: 4, class: "note" }, text));

const FATES = { outranked: "cannot reach the best any more", ends: "complete" };

function line({ one, place }) {
  const terms = ancestry(now - 1, place);
  const last = terms.pop();
  const found = one.found.length ? `found: ${one.found.join(", ")}` : "";
  const leads = found || (one.documents.length ? one.documents.join(", ") : "") || FATES[one.fate] || "";
  return el("tr", { class: `${one.fate} ${lit(now - 1, place) ? "lit" : ""}` },
    el("th", { scope: "row" }, el("span", { class: "so-far" }, terms.map((term) => `${term} › `)), el("b", {}, last),
      lit(now - 1, place) ? el("span", { class: "hidden-label" }, " (on the chosen hit’s path)") : null,
      leads ? el("span", { class: found ? "leads is-found" : "leads" }, leads) : null),
    el("td", { class: "figure" }, logProb(one.log_prob)),
    el("td", { class: "figure" }, logProb(one.score)),
    el("td", { class: "figure" }, one.valid_documents.toLocaleString("en")));
}

// Scroll the picture, not the page, to the step.
function reveal() {
  const graph = byId("graph");
  graph.scrollLeft = Math.max(0, left(now) - graph.clientWidth);
}
