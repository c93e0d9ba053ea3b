"""The search of an engine whose score needs no beam: encode, find a pool, rank it, explain.

Where p(T(D) | Q) does not count (see `tsgen.decode.ranking` for the whole formula), what is left of
the score is

    score(Q, D) = prior_weight · r(Q, D) + lexical_weight · s(Q, D).

The first stage finds a pool of `candidates` documents by the query's own words and by terms that
the generator writes for it (`tsgen.decode.first_stage`), and the score puts them in order
(`tsgen.decode.pool_ranking`). Of a collection that is not larger than the pool all documents are
scored. All that is needed of the model is v(Q), which an ONNX graph computes, and a table of term
vectors, so that neither torch nor the model is loaded. What `tsgen.decode.search` computes of all
documents with the whole model is the oracle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int32
from tsgen.decode.first_stage import FirstStage
from tsgen.decode.hypotheses import Found
from tsgen.decode.pool_ranking import PoolRanking
from tsgen.decode.ranking import idf
from tsgen.decode.reasons import Reasons
from tsgen.decode.topk import best_of
from tsgen.docids.term_set import TermSets, by_posting, shares_of
from tsgen.model.term_table import DOCUMENTS, TermTable, saved_config
from tsgen.settings import TERM_VECTORS, DecodeConfig, ModelConfig
from tsgen.terms.sentences import TextVectors
from tsgen.terms.text_encoder import OnnxEncoder, Watch

SEARCHED_IN_FULL = 2**16  # documents that are all scored where the first stage finds too few
TOGETHER = 256  # queries that are encoded together

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Encoders:
    """What reads queries and documents for one engine."""

    queries: OnnxEncoder
    documents: OnnxEncoder
    config: ModelConfig

    @classmethod
    def open(cls, folder: Path, config: ModelConfig) -> Self | None:
        """The encoders that a model saved into a folder; None if it is of another kind, or its
        encoder could not be written as a graph."""
        if config.backbone != TERM_VECTORS or (queries := OnnxEncoder.open(folder)) is None:
            return None
        saved, _ = saved_config(folder)
        return cls(queries, OnnxEncoder.open(folder / DOCUMENTS) or queries, saved)

    def query_vectors(self, queries: Sequence[str]) -> Float32:
        """The vectors v(Q) [Q, d] of queries."""
        return self.queries.vectors(queries, self.config.query_tokens)

    def document_vectors(self, texts: Sequence[str], watch: Watch = lambda _: None) -> TextVectors:
        """The vectors of documents or passages, and of their sentences."""
        return self.documents.text_vectors(texts, self.config.document_tokens, watch)

    def longer_than_window(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether `document_vectors` leaves out the end of each of these texts [T]."""
        if not self.config.passages:
            return np.zeros(len(texts), np.bool_)
        return self.documents.longer_than(texts, self.config.document_tokens)


def write_first_stage(folder: Path, sets: TermSets, table: TermTable) -> None:
    """Write the first stage of term sets into the folder that has them, and compile what a search
    runs."""
    assert sets.doc_weights is not None
    weights, shares = (
        by_posting(sets.doc_terms, values, sets.post_offsets)
        for values in (
            sets.doc_weights.astype(np.float32),
            shares_of(sets.doc_offsets, sets.doc_weights),
        )
    )
    stage = FirstStage.build(sets.post_offsets, sets.post_docs, weights, shares, table.vectors)
    stage.save(folder)
    FirstStage.load(folder, len(sets)).warm_up()
    saved = TermSets.load(folder)
    PoolRanking.of(saved).warm_up()
    Reasons.of(saved).warm_up()


class Origin(NamedTuple):
    """Where the documents and terms of a changed collection are in its base."""

    documents: NDArray[np.integer]  # [K] numbers in the base of the first K documents, ascending
    terms: Int32  # [V] numbers in the base, or −1 for a new term


@dataclass(frozen=True, slots=True)
class _Query:
    """A query as both stages see it."""

    vector: Float32  # [d] v(Q)
    spoken: Int32  # [m] places in the first stage's `spoken_terms`
    spoken_factors: Float32  # [m] prior_weight · e(t) · v(Q)
    own: Int32  # [n] its words among the terms of the collection, ascending
    own_factors: Float32  # [n] lexical_weight · √idf(t)


class VectorSearch:
    """Searches the documents of one moment."""

    def __init__(
        self,
        encoders: Encoders,
        table: TermTable,
        sets: TermSets,
        stage: FirstStage,
        origin: Origin | None = None,
    ) -> None:
        """Join what a search reads.

        Args:
            encoders: What reads queries.
            table: The terms' vectors.
            sets: T(D) and the vectors of every document.
            stage: The first stage of the collection, or of its base.
            origin: Where documents and terms are in the base; None for the base itself.
        """
        self._encoders, self._table, self._sets = encoders, table, sets
        self._stage, self._origin = stage, origin
        self._ranking, self._reasons = PoolRanking.of(sets), Reasons.of(sets)

    @property
    def whole_words(self) -> frozenset[str]:
        """The words that the encoder knows as wholes."""
        return self._encoders.queries.whole_words

    def prepare(self) -> None:
        """Make what the first search would have to make."""
        _ = self._sets.lookup, self._spoken_terms

    def __call__(
        self, queries: Sequence[str], k: int, config: DecodeConfig, among: Int32 | None = None
    ) -> list[list[Found]]:
        """The best k documents of each query, best first; ties by document number.

        Args:
            queries: Texts, as the encoder is to read them.
            k: Documents for each query, at most.
            config: The weights of the score; `by_first_stage` holds for it.
            among: The only documents to be found (ascending numbers); None: all of them.
        """
        answers: list[list[Found]] = []
        for start in range(0, len(queries), TOGETHER):
            together = queries[start : start + TOGETHER]
            vectors = self._encoders.query_vectors(together)
            spoken, scores = self._stage.spoken(vectors)
            factors = np.asarray(config.prior_weight * scores, np.float32)
            for i, text in enumerate(together):
                own, own_factors = self._own_words(text, config)
                query = _Query(vectors[i], spoken[i], factors[i], own, own_factors)
                answers.append(self._answer(query, k, config, among))
        return answers

    def _own_words(self, text: str, config: DecodeConfig) -> tuple[Int32, Float32]:
        """The words of a query among the terms, ascending, with lexical_weight · √idf(t)."""
        if not config.lexical_weight:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        own = np.sort(self._sets.query_terms(text))
        having = self._sets.post_offsets[own + 1] - self._sets.post_offsets[own]
        factors = config.lexical_weight * np.sqrt(idf(having, len(self._sets)))
        return own, factors.astype(np.float32)

    def _answer(
        self, query: _Query, k: int, config: DecodeConfig, among: Int32 | None
    ) -> list[Found]:
        """The hits of a query."""
        documents, scores = self._ranked(query, k, config, among)
        best = best_of(scores, documents, k)
        found = [
            Found(d, s, (), (), (), self._ranking.best_passage(d, query.vector))
            for d, s in zip(documents[best].tolist(), scores[best].tolist(), strict=True)
        ]
        return self._with_reasons(found, query)

    def _ranked(
        self, query: _Query, k: int, config: DecodeConfig, among: Int32 | None
    ) -> tuple[Int32, Float32]:
        """The documents of the pool and their scores, in no order."""
        everything = len(self._sets) if among is None else len(among)
        pool = max(config.candidates, k)
        if everything > pool and config.stages != "second":
            documents, sums = self._candidates(query)
            if among is not None:
                inside = _places(among, documents) >= 0
                documents, sums = documents[inside], sums[inside]
            if len(documents) >= min(k, everything) or everything > SEARCHED_IN_FULL:
                best = best_of(sums, documents, pool)
                if config.stages == "first":
                    return documents[best], sums[best]
                return documents[best], self._scores(query, documents[best], config)
        documents = np.arange(everything, dtype=np.int32) if among is None else among
        return documents, self._scores(query, documents, config)

    def _scores(self, query: _Query, documents: Int32, config: DecodeConfig) -> Float32:
        said = query.vector, query.own, query.own_factors
        return self._ranking.scores(documents, *said, config.prior_weight, config.sentence_share)

    def _candidates(self, query: _Query) -> tuple[Int32, Float32]:
        """The documents that the first stage finds, and all that are not in the base."""
        sets, origin = self._sets, self._origin
        own, factors = query.own, query.own_factors
        if origin is not None:
            own, factors = origin.terms[own], factors[origin.terms[own] >= 0]
            own = own[own >= 0]
        offsets = self._stage.own_offsets
        order = np.argsort(offsets[own + 1] - offsets[own], kind="stable")
        said = query.spoken, query.spoken_factors, own[order], factors[order]
        documents, sums = self._stage.candidates(*said)
        if origin is None:
            return documents, sums
        places = _places(origin.documents, documents)
        new = np.arange(len(origin.documents), len(sets), dtype=np.int32)
        there = places[places >= 0].astype(np.int32), sums[places >= 0]
        most = np.full(len(new), sums.max(initial=0), np.float32)
        return np.concatenate((there[0], new)), np.concatenate((there[1], most))

    @cached_property
    def _spoken_terms(self) -> Int32:
        """[G] the numbers of the first stage's `spoken_terms`, or −1 for one that is gone."""
        terms = np.asarray(self._stage.spoken_terms)
        if self._origin is None:
            return terms
        numbers = np.full(len(self._stage.own_offsets) - 1, -1, np.int32)
        known = np.flatnonzero(self._origin.terms >= 0)
        numbers[self._origin.terms[known]] = known
        return numbers[terms]

    def _with_reasons(self, found: Sequence[Found], query: _Query) -> list[Found]:
        """The documents with the terms that found them as their reasons."""
        if not found:
            return []
        spoken = self._spoken_terms[query.spoken]  # its factors are of √ŵ, those of own words of w
        both = np.concatenate((spoken[spoken >= 0], query.own))
        factors = np.concatenate((query.spoken_factors[spoken >= 0], query.own_factors))
        named, places = np.unique(both, return_inverse=True)
        summed = np.bincount(places, factors, len(named)).astype(np.float32)
        documents = np.array([one.document for one in found], np.int32)
        offsets, terms, sizes = self._reasons(documents, named, summed)
        distinct, places = np.unique(terms, return_inverse=True)
        log_probs = self._table.log_probs(distinct, query.vector)[places].tolist()
        units, valid, ends = terms.tolist(), sizes.tolist(), offsets.tolist()
        return [
            replace(
                one,
                units=tuple(units[start:end]),
                log_probs=tuple(log_probs[start:end]),
                valid_documents=tuple(valid[start:end]),
            )
            for one, start, end in zip(found, ends, ends[1:], strict=False)
        ]


def _places(ascending: NDArray[np.integer], numbers: Int32) -> NDArray[np.int64]:
    """The place of each number in an ascending list, or −1."""
    places = np.searchsorted(ascending, numbers)
    places[places == len(ascending)] = 0
    if len(ascending):
        places[ascending[places] != numbers] = -1
    else:
        places[:] = -1
    return places
