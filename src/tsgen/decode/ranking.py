"""What a beam lost and the set prior kept: documents that follow, or overtake, what was generated.

A beam of B hypotheses leads to few documents, and those it prunes are gone, while one step of the
decoder has an opinion on every document. So the prior's best M that the beam did not reach are
added with the lowest score of those it did,

    score(D) = min score + prior(D) − max prior,   D not found,

which puts them behind, in the prior's order; `rescore` then weighs all alike, and one that means
what the query is after comes forward. Its reason is made of the first step's probabilities: its
terms, likeliest first, with the documents that are left after each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int, Int32, Ragged
from tsgen.constrain.kernels import kernel
from tsgen.constrain.term_sets import PostingsConstraint, SetFrontier
from tsgen.constrain.valid_terms import best_value
from tsgen.decode.hypotheses import Found
from tsgen.decode.topk import Float
from tsgen.docids.spelling import Spelling
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone

# What was found, in a better order: how much does each document mean what the query is after?
#
# A set does not say which of its terms matter most: after `vietnam` alone, the page on Vietnam and
# that on a cinnamon from there are equally good. The weights that chose the terms do say it. So
#
#     score(D) = log p(D | Q) + λ log Σ_{t ∈ T(D)} ŵ_D(t) p(t | Q)^{1/u},
#
# where ŵ_D are the document's weights with sum 1 (equal ones, if none were kept), p(t | Q) is that
# of the first step, and u flattens it, so that a second and a third word of the query count, too.
# What the query's own words say (see `overlap`) may be added.

DEPTH = 100  # documents that are ordered anew, at least
FLATTENED = 4.0  # u


def rescore(
    found: Sequence[Found],
    log_probs: NDArray[np.float32],
    constraint: PostingsConstraint,
    weight: float,
    added: NDArray[np.float32] | None = None,
) -> list[Found]:
    """The documents of one query with their new scores, best first; ties by document order.

    `log_probs` [T] are log p(t | Q) of all terms; `weight` is λ; `added` [C] is for all documents.
    """

    def more(document: int) -> float:
        meant = weight * _meant(document, log_probs, constraint) if weight else 0.0
        return meant if added is None else meant + float(added[document])

    scored = [replace(one, score=one.score + more(one.document)) for one in found]
    return sorted(scored, key=lambda one: (-one.score, one.document))


def _meant(document: int, log_probs: NDArray[np.float32], constraint: PostingsConstraint) -> float:
    """log Σ ŵ_D(t) p(t | Q)^{1/u}."""
    sets = constraint.term_sets
    span = slice(*sets.offsets[document : document + 2])
    flat = log_probs[sets.values[span]].astype(np.float64) / FLATTENED
    return float(np.log(constraint.shares[span] @ np.exp(flat - flat.max())) + flat.max())


# The query's own words among a document's terms.
#
#     o(Q, D) = Σ_{t ∈ Q ∩ T(D)} (N ŵ_D(t))^{1/u} log(1 + (C − n_t + ½) / (n_t + ½)),
#
# where n_t = |Φ(t)| of C documents have the term, ŵ_D are the weights of D's N terms with sum 1,
# and u flattens them (see `rescore`). It is BM25 of the term sets: in place of how often a word
# occurs, which a set does not know, there is how heavy it is. A model that has learned what people
# call a thing knows less well than a count how telling it is that a rare word is the same.


def overlaps(constraint: PostingsConstraint, queries: Sequence[str]) -> NDArray[np.float32]:
    """[Q, C] o of each query and document."""
    found = np.zeros((len(queries), constraint.documents), dtype=np.float32)
    offsets, documents = constraint.postings.offsets, constraint.postings.values
    for row, query in zip(found, queries, strict=True):
        for term in constraint.asked(query).tolist():
            having = slice(offsets[term], offsets[term + 1])
            heavy = constraint.relative_weights[having] ** (1 / FLATTENED)
            row[documents[having]] += heavy * telling(len(heavy), len(row))
    return found


def telling(having: int, documents: int) -> float:
    """log(1 + (C − n + ½) / (n + ½)) of a term that n of C documents have."""
    return float(np.log1p((documents - having + 0.5) / (having + 0.5)))


# The set prior: what the first step of the decoder alone says about every document.
#
# One decoder step gives log p of every term; a document's prior adds up its terms:
# - `mean`: (1/|T(D)|) Σ log p(t)
# - `sum`: Σ log p(t), the likelihood of the set if terms were drawn independently
# - `matched`: Σ log(1 + max(0, log p(t) + log V)), which counts only terms that are likelier than
#   one of V equally likely outputs, so that unmatched terms do not drown the matched ones;
# - `meant`: log Σ ŵ_D(t) p(t)^{1/u}, in which heavy terms count more (see `rescore`), and the
#   query's own words as much as in the order of what is found (see `overlap`).
#
# A term of several tokens has the mean log p of its tokens, without the terminator that all terms
# end with. The prior ranks documents by itself, limits a search to the best documents (a pool), or
# tells it which hypotheses have a good document ahead.

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


def fill(found: Sequence[Found], documents: Int32, priors: Float32) -> list[Found]:
    """What was found for a query, followed by those of the prior's `documents` [M], best first,
    that were not; these have no reason yet."""
    known = {one.document for one in found}
    lost = [i for i, document in enumerate(documents.tolist()) if document not in known]
    if not lost:
        return list(found)
    least = min((one.score for one in found), default=0.0) - float(priors[lost[0]])
    return [*found, *(Found(int(documents[i]), least + float(priors[i]), (), (), ()) for i in lost)]


def with_reason(one: Found, log_probs: Float32, constraint: PostingsConstraint) -> Found:
    """With its terms as the reason, if nothing was generated for it; `log_probs` [T] are those of
    the first step."""
    if one.units:
        return one
    sets = constraint.term_sets
    terms = sets.values[slice(*sets.offsets[one.document : one.document + 2])]
    terms = terms[np.argsort(-log_probs[terms], kind="stable")]
    left, sizes = None, []
    for term in terms.tolist():
        if left is None or len(left) > 1:
            having = constraint.postings.row(term)
            left = having if left is None else np.intersect1d(left, having, assume_unique=True)
        sizes.append(len(left))
    likely = tuple(log_probs[terms].tolist())
    return replace(one, units=tuple(terms.tolist()), log_probs=likely, valid_documents=tuple(sizes))
