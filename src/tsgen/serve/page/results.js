// The hits: title, snippet, and the permutation of terms that led to each.

import { byId, count, el, figure, logProb, marked, words } from "./dom.js";

const SHOWN = 12; // terms of a hit: the likeliest ones; all of them are in the path

// Which hit is chosen is told by `choose(rank)`; `ask(id)` wants to know why it was found.
export function showHits(result, { choose, ask }) {
  const wanted = words(result.read_as ?? result.query);
  const rows = result.hits.map((hit, rank) => row(hit, rank, wanted, choose, ask));
  byId("hits").replaceChildren(...rows);
  byId("results").hidden = false;
}

export function markChosen(rank) {
  for (const [i, button] of document.querySelectorAll("#hits .choose").entries()) {
    button.setAttribute("aria-pressed", String(i === rank));
    button.closest("li").classList.toggle("chosen", i === rank);
  }
}

function row(hit, rank, wanted, choose, ask) {
  const name = hit.title || hit.document;
  return el("li", { class: "hit" },
    el("h3", {}, marked(name, wanted)),
    el("p", { class: "meta" }, hit.title ? el("code", {}, hit.document) : null,
      el("span", { title: "what the hits are ordered by" }, ` score ${figure(hit.score)}`)),
    hit.snippet ? el("p", { class: "snippet" }, marked(hit.snippet, wanted)) : null,
    hit.reason ? permutation(hit.reason, wanted) : null,
    el("p", { class: "actions" },
      el("button", { type: "button", class: "choose quiet", "aria-pressed": "false", onclick: () => choose(rank) },
        "Show its path"),
      el("button", { type: "button", class: "quiet", onclick: () => ask(hit.document) },
        "Why?", el("span", { class: "hidden-label" }, ` was ${name} found`))));
}

// The terms in the order they were generated; the likelier a term, the stronger its line. Where one
// document is left the others of its terms follow.
function permutation(reason, wanted) {
  const terms = reason.terms.slice(0, SHOWN).map((term, i) => {
    const follows = i > 0 && reason.valid_documents[i - 1] === 1 && reason.log_probs[i] === 0;
    const about = follows ? "follows, since one document is left"
      : `log p ${logProb(reason.log_probs[i])}, then ${count(reason.valid_documents[i], "document")} left`;
    const chip = el("li", { class: follows ? "chip follows" : "chip", title: about }, marked(term, wanted),
      el("span", { class: "hidden-label" }, `: ${about}`));
    chip.style.setProperty("--p", Math.exp(reason.log_probs[i] ?? -99).toFixed(3));
    return chip;
  });
  const rest = reason.terms.slice(SHOWN);
  if (rest.length) terms.push(el("li", { class: "rest", title: rest.join(", ") }, `and ${rest.length} more`));
  return el("ol", { class: "permutation", "aria-label": "Terms in the order they were generated" }, ...terms);
}
