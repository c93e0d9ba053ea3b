// Why a document was or was not found.

import { byId, count, el, logProb } from "./dom.js";

const CAUSES = {
  beam: "Better hypotheses filled the beam.",
  spelling: "Its next term fell out while it was spelled.",
  look_ahead: "The prior preferred other documents.",
  outranked: "Enough better documents had been found already.",
  filtered: "It is not among the documents that were searched.",
  no_terms: "It has no terms, so nothing can lead to it.",
};

export function showKnown(ids) {
  byId("known").replaceChildren(...ids.map((value) => el("option", { value })));
}

// Documents to which pruned hypotheses would have led.
export function showLost(ids, ask) {
  const buttons = ids.map((id) => el("button", { type: "button", class: "quiet", onclick: () => ask(id) }, id));
  byId("lost").replaceChildren(...(ids.length
    ? [el("p", { class: "about" }, "Lost at the edge of the beam:"), el("p", { class: "lost" }, ...buttons)] : []));
}

export function showWhy(found, name, searchWith) {
  const { fall } = found;
  byId("answer").replaceChildren(
    el("h3", { class: found.found ? "verdict good" : "verdict" }, verdict(found)),
    name ? el("p", { class: "about" }, name) : "",
    el("p", { class: "about" }, "Its terms: ", el("span", { class: "terms" }, found.terms.join(", ") || "none")),
    found.standings.length ? standings(found) : "",
    fall ? falling(fall) : "",
    fall ? remedy(found, searchWith) : "");
}

function verdict(found) {
  if (found.rank !== null) {
    const place = `Found, at rank ${found.rank}`;
    return found.found ? `${place}.` : `${place}, below the ${found.k} that were asked for.`;
  }
  return found.fall.step ? `Not found: it fell out at term ${found.fall.step}.` : "Not found.";
}

function standings({ standings: all, fall }) {
  const most = Math.max(...all.map((one) => one.kept));
  const rows = all.map((one) => {
    const bar = el("span", { class: "place-bar" });
    bar.style.setProperty("--at", `${(100 * (1 - (one.place - 1) / most)).toFixed(1)}%`);
    return el("li", {}, el("span", { class: "place" }, `${one.place} of ${one.kept}`), bar,
      el("span", { class: "so-far" }, one.terms.join(" › ")));
  });
  if (fall && fall.step) rows.push(el("li", { class: "out" }, el("span", { class: "place" }, "out"),
    el("span", { class: "place-bar empty" }), el("span", { class: "so-far" }, fall.terms.join(" › "))));
  return el("div", {}, el("h4", {}, "Its best place in the beam, term by term"),
    el("ol", { class: "standings" }, ...rows));
}

function falling(fall) {
  if (!fall.step) return el("p", {}, CAUSES[fall.cause]);
  const own = { name: "its best", terms: fall.terms, score: fall.score, kind: "own" };
  const kept = fall.worst.length ? [{ name: "last place", terms: fall.worst, score: fall.bar, kind: "" }] : [];
  const rivals = fall.rivals.map((one) => ({ name: "instead", terms: [...fall.terms.slice(0, -1), one.term], score: one.score, kind: "" }));
  const all = unique([...rivals, ...kept, own]);
  const scores = all.map((one) => one.score);
  const low = Math.min(...scores) - 1, high = Math.max(...scores);
  const rows = all.map(({ name, terms, score, kind }) => {
    const bar = el("span", { class: "score-bar" });
    bar.style.setProperty("--at", `${(6 + 94 * (score - low) / Math.max(1e-9, high - low)).toFixed(1)}%`);
    return el("li", { class: kind }, el("span", { class: "place" }, name), bar,
      el("span", { class: "so-far" }, terms.slice(0, -1).map((t) => `${t} › `).join(""), el("b", {}, terms.at(-1))),
      el("span", { class: "figure" }, logProb(score)));
  });
  return el("div", {}, el("h4", {}, `At term ${fall.step}`), el("p", { class: "about" }, CAUSES[fall.cause]),
    el("ol", { class: "falling" }, ...rows));
}

function unique(all) {
  const seen = new Set();
  return all.filter(({ terms }) => !seen.has(terms.join("\0")) && seen.add(terms.join("\0")));
}

function remedy(found, searchWith) {
  if (found.needed_beam !== null) {
    return el("p", { class: "remedy" },
      `A beam of ${found.needed_beam} would have kept it, at rank ${found.rank_then}. `,
      el("button", { type: "button", onclick: () => searchWith(found.needed_beam) }, `Search with a beam of ${found.needed_beam}`));
  }
  const wider = ["beam", "spelling", "look_ahead"].includes(found.fall.cause);
  return el("p", { class: "remedy" }, wider
    ? `No beam up to ${count(found.widest, "hypothesis", "hypotheses")} that was tried keeps it.` : "A wider beam would not help.");
}
