"""The score of a document for a query: one formula, which no other file knows.

A search puts the documents that it found in the order of

    score(Q, D) = generated_weight · log p(D | Q)
                + prior_weight · log Σ_{t ∈ T(D)} ŵ_D(t) p(t | Q)^{1/u}
                + lexical_weight · o(Q, D),

    o(Q, D) = Σ_{t ∈ Q ∩ T(D)} (N ŵ_D(t))^{1/u} log(1 + (C − n_t + ½) / (n_t + ½)),

in which

- p(D | Q) is the probability that the beam search gives to T(D), the document's set of N terms;
- ŵ_D(t) is the weight of the term t in the document D, divided by the sum of the weights of all N
  terms; it is 1/N for a collection that keeps no weights;
- p(t | Q) is the probability of t as the first term, from one step of the decoder; for a term of
  several tokens it is the geometric mean of their probabilities, without that of the terminator;
- u = `FLATTENING` makes p and ŵ flatter, so that a second and a third word of the query count, too;
- t ∈ Q means that a word of the query has the stem of the term t;
- C is the number of documents, of which n_t have the term t in their set;
- `generated_weight` (κ), `prior_weight` (λ) and `lexical_weight` (μ) are settings of `[decode]` for
  searching; λ and μ are also settings of `[train]` for the loss that ranks documents. The paper's
  ranking has κ = 1 and λ = μ = 0.

With the prior `vectors`, of a model that has learned the collection while it was indexed, the
second part is prior_weight · r(Q, D) instead: what the vectors of the document's terms and its own
symbol say together (see `tsgen.model.term_vectors` and `tsgen.terms.passages`). With the setting
`lexical = "product"` the third part is

    s(Q, D) = Σ_{t ∈ Q ∩ T(D)} √idf(t) · w_D(t),   idf(t) = log(1 + (C − n_t + ½) / (n_t + ½)),

Equation 4 of the paper with the weight √idf(t) of a word in a query, and the weights w_D(t) that
were kept with T(D). For the weights `tfidf` the product of both is a word's BM25.

The first part does not say which terms of a set matter most: after `vietnam` alone, the page on
Vietnam and the page on a cinnamon from there are equally good. The second part, the weighted *set
prior*, knows it from the weights that chose the terms. The third part, BM25 over term sets, knows
how telling it is that a rare word occurs in both the query and the document; a small model knows
this less well.

A beam of B hypotheses leads to few documents, while the set prior ranks all of them. Therefore the
prior's best M documents (the setting `fill`) are added to those that the beam found. In place of
log p(D | Q), a document D that is added gets

    s + prior(D) − max prior,

where s is the lowest log p of the documents found, and the maximum is over the documents added. So
they stand behind the documents found until the other parts of the score bring them forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int, Int32, Ragged
from tsgen.decode.hypotheses import Found
from tsgen.decode.topk import Float, best_of
from tsgen.errors import ConfigError
from tsgen.settings import DecodeConfig

if TYPE_CHECKING:  # a search without a beam needs none of these
    import torch

    from tsgen.constrain.term_sets import PostingsConstraint, SetFrontier
    from tsgen.docids.spelling import Spelling
    from tsgen.model.backbone import Backbone

Float32 = NDArray[np.float32]

FLATTENING = 4.0  # u
DEPTH = 100  # documents that are put in the order of the score, at least
TRIED = 1024  # best documents of a query that a look-ahead tries before it reads a large Y

# 1. The set prior: what the first step of the decoder says about every document.
#
# The prior of a document adds up what the model says of its terms, in one of five ways:
# - `mean`: (1/N) Σ log p(t | Q);
# - `sum`: Σ log p(t | Q), the likelihood of the set if its terms were drawn independently;
# - `matched`: Σ log(1 + max(0, log p(t | Q) + log V)) for a model of V outputs: only terms that are
#   likelier than one of V equally likely outputs count, so that the others do not drown them;
# - `weighted`: log Σ ŵ_D(t) p(t | Q)^{1/u}, the second part of the score, to which the third part
#   is added in the same proportion, lexical_weight / prior_weight;
# - `vectors`: v(D) · v(Q), the same for a model that knows documents by vectors.
#
# The prior ranks documents by itself, limits a search to a pool of the best documents, adds
# documents to those found, and tells a search which hypotheses have a good document ahead.


@dataclass(frozen=True, slots=True)
class SetPrior:
    """The prior of every document for each query of a batch."""

    constraint: PostingsConstraint
    terms: Float32  # [Q, T] what each term adds to the sum of a document
    sums: Float32  # [Q, D] the sum over the terms of each document
    how: str  # `mean`, `sum`, `matched`, `weighted` or `vectors`

    @classmethod
    def after_first_step(
        cls, backbone: Backbone, constraint: PostingsConstraint, hidden: torch.Tensor, how: str
    ) -> Self:
        """The prior from the hidden states [Q, d] that predict the first token for each query."""
        log_probs = term_log_probs(backbone, constraint, hidden)
        return cls.of(log_probs, constraint, backbone.output_size, how)

    @classmethod
    def of(
        cls,
        log_probs: Float32,
        constraint: PostingsConstraint,
        outputs: int,
        how: str,
        lexical: Float32 | None = None,
        similarity: Float32 | None = None,
    ) -> Self:
        """The prior from the log p of every term in the first step.

        Args:
            log_probs: [Q, T] log p(t | Q).
            constraint: the term sets of all documents.
            outputs: V, the number of outputs of the model.
            how: `mean`, `sum`, `matched`, `weighted` or `vectors`.
            lexical: [Q, D] what the lexical part adds to the `weighted` and the `vectors` prior.
            similarity: [Q, D] v(D) · v(Q), for `vectors`.
        """
        if similarity is not None:
            sums = similarity if lexical is None else similarity + lexical
            return cls(constraint, log_probs, sums, how)
        terms = log_probs
        if how == "matched":
            terms = np.log1p(np.maximum(0, log_probs + np.log(outputs))).astype(np.float32)
        elif how == "weighted":
            terms = np.exp(log_probs / FLATTENING)
        sets = constraint.term_sets
        shares = constraint.shares if how == "weighted" else np.ones(len(sets.values), np.float32)
        from tsgen.constrain.term_sets import sums_over_terms

        sums = sums_over_terms(sets.offsets, sets.values, shares, np.ascontiguousarray(terms.T))
        if how == "weighted":
            sums = np.log(sums) if lexical is None else np.log(sums) + lexical
        return cls(constraint, terms, sums, how)

    def best(self, count: int) -> tuple[Int32, Float32]:
        """The best documents [Q, M] of each query, best first, and their priors [Q, M]."""
        priors = self._priors()
        best = np.stack([_largest(row, count) for row in priors])
        return best, np.take_along_axis(priors, best, axis=1)

    def best_inside(self, count: int, pool: Ragged | None = None) -> list[tuple[Int32, Float32]]:
        """For each query the best documents of a pool, best first, with their priors.

        Args:
            count: documents for each query, at most.
            pool: the documents of each query, or one row for all queries; None: every document.
        """
        found = []
        for query, priors in enumerate(self._priors()):
            if pool is None:
                documents = _largest(priors, count)
            else:
                inside = pool.row(query if len(pool.offsets) > 2 else 0)
                documents = inside[_largest(priors[inside], count)]
            found.append((documents, priors[documents]))
        return found

    def pool(self, count: int) -> Ragged:
        """The best documents of each query, in ascending order, to limit a search to."""
        best = np.sort(self.best(count)[0], axis=1)
        return Ragged(np.arange(len(best) + 1) * best.shape[1], best.reshape(-1))

    def look_ahead(self, weight: float) -> PriorLookAhead:
        """What the best document that each hypothesis can still lead to will add to its score."""
        if self.how in ("weighted", "vectors"):
            raise ConfigError(
                f"decode.prior = {self.how!r} does not say what a term adds whatever the document, "
                "as decode.look_ahead needs; set decode.prior=matched or decode.look_ahead=0."
            )
        tried = np.stack([_largest(row, TRIED) for row in self.sums])
        return PriorLookAhead(self, tried, weight)

    def ranking(self, k: int) -> list[list[Found]]:
        """The best k documents of each query by the prior alone; no path was generated to show."""
        documents, priors = self.best(k)
        return [
            [Found(int(d), float(p), (), (), ()) for d, p in zip(*row, strict=True)]
            for row in zip(documents, priors, strict=True)
        ]

    def _priors(self) -> Float32:
        """[Q, D] the sums, or their means over the terms of each document."""
        if self.how != "mean":
            return self.sums
        sizes = np.diff(self.constraint.term_sets.offsets)
        return np.divide(self.sums, np.maximum(sizes, 1), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class PriorLookAhead:
    """weight · max over D ∈ Y of the prior of T(D) \\ X, for the rows of a frontier."""

    prior: SetPrior
    tried: Int32  # [Q, M] the best documents of each query
    weight: float

    def __call__(self, frontier: SetFrontier, query: Int) -> Float:
        """[R] what the rows of these queries [R] have ahead."""
        sets, terms = frontier.set_of, frontier.documents.terms
        from tsgen.constrain.valid_terms import best_value

        best = best_value(
            frontier.index, frontier.documents, sets, query, self.prior.sums, self.tried
        )
        spent = self.prior.terms[query[:, None], terms[sets]].sum(axis=1)
        ahead: Float = self.weight * (best - spent)
        return ahead


def _weighted_prior(
    document: int, log_probs: NDArray[np.float32], constraint: PostingsConstraint
) -> float:
    """log Σ ŵ_D(t) p(t | Q)^{1/u} of one document, from log p of all terms [T]."""
    sets = constraint.term_sets
    span = slice(*sets.offsets[document : document + 2])
    flat = log_probs[sets.values[span]].astype(np.float64) / FLATTENING
    return float(np.log(constraint.shares[span] @ np.exp(flat - flat.max())) + flat.max())


def scores_to_train(
    log_probs: torch.Tensor,
    shares: torch.Tensor,
    lexical: torch.Tensor | None,
    prior_weight: float,
    lexical_weight: float,
) -> torch.Tensor:
    """[Q, D] the second and third part of the score as a function with gradients, for training.

    Args:
        log_probs: [Q, S] log p(t | Q) of S terms.
        shares: [D, S] ŵ_D(t), 0 for a term that the document does not have.
        lexical: [Q, D] o(Q, D); None where the lexical part does not count.
        prior_weight: λ.
        lexical_weight: μ.
    """
    import torch

    weighted_prior = torch.log(torch.exp(log_probs / FLATTENING) @ shares.T)
    scores = prior_weight * weighted_prior
    return scores if lexical is None else scores + lexical_weight * lexical


def term_log_probs(
    backbone: Backbone, constraint: PostingsConstraint, hidden: torch.Tensor
) -> Float32:
    """[Q, T] log p of each term as the first one, from the hidden states [Q, d]."""
    import torch

    logits = backbone.logits(hidden).float()
    log_probs = torch.log_softmax(logits, dim=-1).cpu().numpy()
    return _mean_over_tokens(log_probs, constraint.spelling)


def log_probs_among(
    backbone: Backbone, constraint: PostingsConstraint, hidden: torch.Tensor, found: Sequence[Found]
) -> Float32:
    """[T] log p of each term as the first one among the terms of the documents found, for one query
    with the state [d] and a backbone that writes a term as one symbol; −∞ for all other terms."""
    import torch

    log_probs = np.full(constraint.terms, -np.inf, np.float32)
    sets = [constraint.term_sets.row(one.document) for one in found]
    if sets:
        terms = np.unique(np.concatenate(sets))
        tokens = torch.from_numpy(constraint.spelling.sequence(terms).astype(np.int64))
        logits = backbone.logits(hidden[None], tokens.to(hidden.device)).float()
        log_probs[terms] = torch.log_softmax(logits, dim=-1)[0].cpu().numpy()
    return log_probs


def _mean_over_tokens(log_probs: Float32, spelling: Spelling) -> Float32:
    """[Q, T] the mean log p of each term's tokens, without the terminator, from [Q, V]."""
    lengths = np.diff(spelling.offsets)
    counted = np.maximum(lengths - 1, 1)  # a term of one token has no terminator
    kept = np.ones(len(spelling.tokens), dtype=np.bool_)
    kept[spelling.offsets[1:][lengths > 1] - 1] = False
    starts = np.concatenate(([0], np.cumsum(counted)[:-1]))
    by_rank = np.add.reduceat(log_probs[:, spelling.tokens[kept]], starts, axis=1) / counted
    by_term: Float32 = by_rank[:, spelling.rank_of].astype(np.float32)
    return by_term


def _largest(values: Float32, count: int) -> Int32:
    """The indices of the largest values, largest first; ties by index."""
    numbers = np.arange(len(values), dtype=np.int32)
    return numbers[best_of(values, numbers, count)]


# 2. The lexical part: the words of the query among the terms of the documents.
#
# It is BM25 over term sets. A set does not know how often a word occurs in the document; the weight
# of the term takes the place of that frequency.


def lexical_scores(
    constraint: PostingsConstraint, queries: Sequence[str], how: str = "relative"
) -> Float32:
    """[Q, D] o(Q, D), or s(Q, D) for `how` = `product`, of each query and every document."""
    scores = np.zeros((len(queries), constraint.documents), dtype=np.float32)
    offsets, documents = constraint.postings.offsets, constraint.postings.values
    for row, query in zip(scores, queries, strict=True):
        for term in constraint.query_terms(query).tolist():
            having = slice(offsets[term], offsets[term + 1])
            rarity = idf(having.stop - having.start, len(row))
            if how == "product":
                row[documents[having]] += rarity**0.5 * constraint.posting_weights[having]
            else:
                weights = constraint.relative_weights[having] ** (1 / FLATTENING)
                row[documents[having]] += rarity * weights
    return scores


def idf(having: Any, documents: int) -> Any:
    """log(1 + (C − n + ½) / (n + ½)) of a term, or of each of several, that n = `having` of C
    documents have."""
    return np.log1p((documents - having + 0.5) / (having + 0.5))


# 3. Reordering: the three parts together.


def rerank(
    found: Sequence[Found],
    log_probs: NDArray[np.float32],
    constraint: PostingsConstraint,
    config: DecodeConfig,
    lexical: NDArray[np.float32] | None = None,
    similarity: NDArray[np.float32] | None = None,
) -> list[Found]:
    """The documents of one query with their scores, best first; ties by document number.

    Args:
        found: documents with log p(D | Q) as their scores.
        log_probs: [T] log p(t | Q) of all terms.
        constraint: the term sets of all documents.
        config: the weights κ and λ.
        lexical: [D] μ · o(Q, D) of all documents; None where the lexical part does not count.
        similarity: [D] v(D) · v(Q) of all documents; None for a model without document vectors.
    """

    def prior(document: int) -> float:
        if similarity is not None:
            return float(similarity[document])
        return _weighted_prior(document, log_probs, constraint)

    def score(one: Found) -> float:
        total = config.generated_weight * one.score
        if config.prior_weight:
            total += config.prior_weight * prior(one.document)
        return total if lexical is None else total + float(lexical[one.document])

    scored = [replace(one, score=score(one)) for one in found]
    return sorted(scored, key=lambda one: (-one.score, one.document))


# 4. Filling: documents that the set prior ranks high and the beam did not reach.


def fill(found: Sequence[Found], documents: Int32, priors: Float32) -> list[Found]:
    """The documents found for a query, followed by those of the prior's best that were not found.

    Args:
        found: what the beam found.
        documents: [M] the best documents of the prior, best first.
        priors: [M] their priors.
    """
    known = {one.document for one in found}
    lost = [i for i, document in enumerate(documents.tolist()) if document not in known]
    if not lost:
        return list(found)
    least = min((one.score for one in found), default=0.0) - float(priors[lost[0]])
    return [*found, *(Found(int(documents[i]), least + float(priors[i]), (), (), ()) for i in lost)]


# 5. Reasons: what is shown of documents for which no path was generated.


def with_reason(one: Found, log_probs: Float32, constraint: PostingsConstraint) -> Found:
    """The document with its terms as the reason, likeliest first, if it has no generated path.

    Beside each term stand its log p in the first step, of `log_probs` [T], and the number of
    documents that have it and all terms before it.
    """
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


# All parts together, as a search uses them.


@dataclass(frozen=True, slots=True)
class Ranker:
    """The parts of the score that are known for a batch of queries after the first decoder step."""

    constraint: PostingsConstraint
    config: DecodeConfig
    outputs: int  # V, the number of outputs of the model
    log_probs: Float32  # [Q, T] log p(t | Q)
    lexical: Float32 | None  # [Q, D] μ · o(Q, D); None where μ = 0
    products: Float32 | None  # [Q, R] v · v(Q) of all vectors; None but for prior `vectors`
    similarity: Float32 | None  # [Q, D] r(Q, D)

    @classmethod
    def after_first_step(
        cls,
        backbone: Backbone,
        constraint: PostingsConstraint,
        hidden: torch.Tensor,
        queries: Sequence[str],
        config: DecodeConfig,
        beam: bool = True,
    ) -> Self:
        """The parts from the hidden states [Q, d] that predict the first token for each query;
        without a `beam`, log p of the terms is left for later."""
        weight = config.lexical_weight
        lexical = weight * lexical_scores(constraint, queries, config.lexical) if weight else None
        log_probs = np.empty((len(queries), 0), np.float32)
        if beam:
            log_probs = term_log_probs(backbone, constraint, hidden)
        products, similarity = None, None
        if config.prior == "vectors":
            products = hidden.float().cpu().numpy() @ constraint.vector_values.T
            vectors = constraint.document_vectors
            similarity = vectors.similarity(products, config.sentence_share)
        outputs = backbone.output_size
        return cls(constraint, config, outputs, log_probs, lexical, products, similarity)

    def prior(self) -> SetPrior:
        """The set prior; lexical part and prior have the same proportion in it as in the score."""
        lexical = self.lexical
        if lexical is not None and self.config.prior_weight:
            lexical = lexical / self.config.prior_weight
        how, outputs = self.config.prior, self.outputs
        log_probs, similarity = self.log_probs, self.similarity
        return SetPrior.of(log_probs, self.constraint, outputs, how, lexical, similarity)

    def filled(
        self, found: Sequence[list[Found]], prior: SetPrior, pool: Ragged | None
    ) -> list[list[Found]]:
        """The documents found for each query and the prior's best `fill` documents of the pool."""
        if not self.config.fill:
            return list(found)
        best = prior.best_inside(self.config.fill, pool)
        return [fill(hits, *one) for hits, one in zip(found, best, strict=True)]

    def without_beam(
        self, backbone: Backbone, hidden: torch.Tensor, k: int, pool: Ragged | None
    ) -> list[list[Found]]:
        """The best k documents of each query where log p(D | Q) does not count: the prior has all
        of the score, and the likeliest order of a document's terms is the reason.

        Args:
            backbone: the model, asked for the terms of these documents alone.
            hidden: [Q, d] the states that predict the first term.
            k: documents for each query, at most.
            pool: as in `SetPrior.best_inside`.
        """
        if not self.constraint.documents:
            return [[] for _ in hidden]
        best = self.prior().best_inside(k, pool)
        found = self._in_order([fill([], *one) for one in best])
        rows = zip(hidden, found, strict=True)
        terms = [log_probs_among(backbone, self.constraint, *row) for row in rows]
        return self._with_reasons(found, terms, k)

    def ranked(self, found: Sequence[list[Found]], k: int) -> list[list[Found]]:
        """The best k documents of each query in the order of the score, with their reasons."""
        ordered = self._in_order(found) if self.config.reranks else found
        return self._with_reasons(ordered, self.log_probs, k)

    def _in_order(self, found: Sequence[list[Found]]) -> list[list[Found]]:
        """The documents found for each query in the order of the score."""
        none = [None] * len(found)
        lexical = none if self.lexical is None else self.lexical
        similarity = none if self.similarity is None else self.similarity
        parts = zip(found, self.log_probs, lexical, similarity, strict=True)
        return [
            rerank(hits, log_probs, self.constraint, self.config, *more)
            for hits, log_probs, *more in parts
        ]

    def _with_reasons(
        self, found: Sequence[list[Found]], log_probs: Sequence[Float32] | Float32, k: int
    ) -> list[list[Found]]:
        """The first k documents of each query with passages and reasons, by log p [T] of terms."""
        return [
            [with_reason(self._with_passage(hit, q), own, self.constraint) for hit in hits[:k]]
            for q, (hits, own) in enumerate(zip(found, log_probs, strict=True))
        ]

    def _with_passage(self, one: Found, query: int) -> Found:
        """The document with the number of the passage that is nearest to a query of the batch."""
        if self.products is None:
            return one
        vectors = self.constraint.document_vectors
        return replace(one, passage=vectors.best_passage(self.products[query], one.document))
