"""The set prior: what the first step of the decoder alone says about every document.

One decoder step gives log p of every term; a document's prior adds up its terms:
- `mean`: (1/|T(D)|) Σ log p(t)
- `sum`: Σ log p(t), the likelihood of the set if terms were drawn independently
- `matched`: Σ log(1 + max(0, log p(t) + log V)), which counts only terms that are likelier than one
  of V equally likely outputs, so that unmatched terms do not drown the matched ones;
- `meant`: log Σ ŵ_D(t) p(t)^{1/u}, in which heavy terms count more (see `rescore`), and the
  query's own words as much as in the order of what is found (see `overlap`).

A term of several tokens has the mean log p of its tokens, without the terminator that all terms end
with. The prior ranks documents by itself, limits a search to the best documents (a pool), or tells
it which hypotheses have a good document ahead.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int, Int32, Ragged
from tsgen.constrain.documents import best_value
from tsgen.constrain.frontier import SetFrontier
from tsgen.constrain.kernel import kernel
from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.found import Found
from tsgen.decode.rescore import FLATTENED
from tsgen.decode.select import Float
from tsgen.docids.spelling import Spelling
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone

Float32 = NDArray[np.float32]

TRIED = 1024  # of a query's best documents, to look for one that a huge set can still lead to


@dataclass(frozen=True, slots=True)
class Plan:
    """The prior of some queries over all terms and documents."""

    constraint: PostingsConstraint
    terms: Float32  # [Q, T] what each term adds
    sums: Float32  # [Q, D]
    how: str

    def best(self, count: int) -> tuple[Int32, Float32]:
        """The best documents [Q, M] of each query, best first, and their priors [Q, M]."""
        priors = self._priors()
        best = np.stack([_largest(row, count) for row in priors])
        return best, np.take_along_axis(priors, best, axis=1)

    def ranked(self, count: int, pool: Ragged | None = None) -> list[tuple[Int32, Float32]]:
        """For each query the best documents with their priors, of those in its row of a pool (or in
        the only row)."""
        found = []
        for query, priors in enumerate(self._priors()):
            if pool is None:
                own = _largest(priors, count)
            else:
                inside = pool.row(query if len(pool.offsets) > 2 else 0)
                own = inside[_largest(priors[inside], count)]
            found.append((own, priors[own]))
        return found

    def _priors(self) -> Float32:
        """[Q, D]."""
        if self.how != "mean":
            return self.sums
        sizes = np.diff(self.constraint.term_sets.offsets)
        return np.divide(self.sums, np.maximum(sizes, 1), dtype=np.float32)

    def pool(self, count: int) -> Ragged:
        """The best documents of each query, ascending."""
        best = np.sort(self.best(count)[0], axis=1)
        return Ragged(np.arange(len(best) + 1) * best.shape[1], best.reshape(-1))

    def look_ahead(self, weight: float) -> "LookAhead":
        """What the best document that each row can still lead to will add."""
        if self.how == "meant":
            raise ConfigError(
                "decode.prior = 'meant' does not say what a term adds whatever the document, as "
                "decode.look_ahead needs; set decode.prior=matched or decode.look_ahead=0."
            )
        tried = np.stack([_largest(row, TRIED) for row in self.sums])
        return LookAhead(self, tried, weight)


@dataclass(frozen=True, slots=True)
class LookAhead:
    """weight · max over D ∈ Y of the prior of T(D) \\ X, for the rows of a frontier."""

    plan: Plan
    tried: Int32  # [Q, M]
    weight: float

    def __call__(self, frontier: SetFrontier, query: Int) -> Float:
        """[R] for rows of these queries."""
        sets, terms = frontier.set_of, frontier.documents.terms
        best = best_value(
            frontier.index, frontier.documents, sets, query, self.plan.sums, self.tried
        )
        spent = self.plan.terms[query[:, None], terms[sets]].sum(axis=1)
        ahead: Float = self.weight * (best - spent)
        return ahead


def plan(
    backbone: Backbone, constraint: PostingsConstraint, hidden: torch.Tensor, how: str
) -> Plan:
    """The prior from the hidden states [Q, d] that predict each query's first token."""
    log_probs = term_log_probs(backbone, constraint, hidden)
    return plan_of(log_probs, constraint, backbone.output_size, how)


def plan_of(
    terms: Float32,
    constraint: PostingsConstraint,
    outputs: int,
    how: str,
    overlap: Float32 | None = None,
) -> Plan:
    """The prior from log p of every term [Q, T] in the first step, for a model of V `outputs`; with
    `meant`, and `overlap` [Q, D]."""
    if how == "matched":
        terms = np.log1p(np.maximum(0, terms + np.log(outputs))).astype(np.float32)
    elif how == "meant":
        terms = np.exp(terms / FLATTENED)
    sets = constraint.term_sets
    shares = constraint.shares if how == "meant" else np.ones(len(sets.values), np.float32)
    sums = _sums(sets.offsets, sets.values, shares, np.ascontiguousarray(terms.T))
    if how == "meant":
        sums = np.log(sums) if overlap is None else np.log(sums) + overlap
    return Plan(constraint, terms, sums, how)


def term_log_probs(
    backbone: Backbone, constraint: PostingsConstraint, hidden: torch.Tensor
) -> Float32:
    """[Q, T] log p of each term as the first one, from the hidden states [Q, d]."""
    logits = backbone.logits(hidden).float()
    log_probs = torch.log_softmax(logits, dim=-1).cpu().numpy()
    return _term_log_probs(log_probs, constraint.spelling)


def rank_by_prior(found: Plan, k: int) -> list[list[Found]]:
    """The prior as a ranker of its own. Nothing was generated, so there is no path to show."""
    documents, priors = found.best(k)
    return [
        [Found(int(d), float(p), (), (), ()) for d, p in zip(*row, strict=True)]
        for row in zip(documents, priors, strict=True)
    ]


def _term_log_probs(log_probs: Float32, spelling: Spelling) -> Float32:
    """[Q, T] each term's mean over its tokens [Q, V], without the terminator."""
    lengths = np.diff(spelling.offsets)
    counted = np.maximum(lengths - 1, 1)  # a term of one token has no terminator
    kept = np.ones(len(spelling.tokens), dtype=np.bool_)
    kept[spelling.offsets[1:][lengths > 1] - 1] = False
    starts = np.concatenate(([0], np.cumsum(counted)[:-1]))
    by_rank = np.add.reduceat(log_probs[:, spelling.tokens[kept]], starts, axis=1) / counted
    by_term: Float32 = by_rank[:, spelling.rank_of].astype(np.float32)
    return by_term


@kernel
def _sums(offsets: Int, terms: Int32, shares: Float32, values: Float32) -> Float32:
    """[Q, D] Σ over each document's terms of its share · values [T, Q]."""
    queries = values.shape[1]
    sums = np.zeros((queries, len(offsets) - 1), dtype=np.float32)
    total = np.zeros(queries, dtype=np.float32)
    for document in range(len(offsets) - 1):
        total[:] = 0
        for j in range(offsets[document], offsets[document + 1]):
            for q in range(queries):
                total[q] += shares[j] * values[terms[j], q]
        for q in range(queries):
            sums[q, document] = total[q]
    return sums


def _largest(values: Float32, count: int) -> Int32:
    """The places of the largest values, largest first; ties by place."""
    count = min(count, len(values))
    bar = np.partition(values, len(values) - count)[len(values) - count]
    above, equal = np.flatnonzero(values > bar), np.flatnonzero(values == bar)
    places = np.concatenate((above, equal[: count - len(above)]))
    return places[np.lexsort((places, -values[places]))].astype(np.int32)
