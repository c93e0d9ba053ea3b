"""The whole score of the documents in a pool, where no beam has a part in it.

    score(Q, D) = prior_weight · r(Q, D) + lexical_weight · s(Q, D)

    r(Q, D) = (1 − σ) · max_i v_i(D) · v(Q) + σ · max_j u_j(D) · v(Q),   σ = `sentence_share`
    s(Q, D) = Σ_{t ∈ Q ∩ T(D)} √idf(t) · w_D(t)

in which v_i(D) are the vectors of the document's passages, u_j(D) those of its sentences (see
`tsgen.terms.passages`), and w_D(t) the weights that were kept with T(D). Only the rows of the pool
are read, whatever the size of the collection: T(D) with its weights, and vectors in 8 bits, so that
a page of ten sentences is 4 kB. A number x of a vector is kept as the integer nearest to 256 x,
which moves the product of two vectors by about .001.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.kernels import kernel
from tsgen.terms.passages import PassageVectors

UNIT, QUERY_UNIT = 256, 8192  # what 1 is kept as, in documents' vectors and in queries'

Float32 = NDArray[np.float32]
Int32 = NDArray[np.int32]
Int8 = NDArray[np.int8]
Offsets = NDArray[np.integer[Any]]


def in_8_bits(vectors: NDArray[np.floating[Any]]) -> Int8:
    """Vectors of length 1 as integers, in units of 1/256; the largest is 127/256."""
    return np.clip(np.rint(vectors.astype(np.float32) * UNIT), -127, 127).astype(np.int8)


@dataclass(frozen=True, slots=True)
class PoolRanking:
    """The arrays by which the documents of a pool are scored."""

    doc_offsets: Offsets  # [D + 1]
    doc_terms: Int32  # [E] T(D), in any order
    doc_weights: NDArray[np.uint16]  # [E] w_D(t): the bits of numbers in half precision
    passage_offsets: Offsets  # [D + 1]
    passages: Int8  # [P, d]
    sentence_offsets: Offsets  # [D + 1]
    sentences: Int8  # [S, d]; none where the documents have none

    @classmethod
    def of(
        cls,
        doc_offsets: Offsets,
        doc_terms: Int32,
        doc_weights: NDArray[np.float16],
        passages: PassageVectors,
        sentences: PassageVectors | None,
    ) -> Self:
        """Wrap the arrays of term sets; the vectors are in 8 bits."""
        if sentences is None:
            none = np.zeros((0, passages.values.shape[1]), np.int8)
            sentences = PassageVectors(np.zeros(len(passages) + 1, np.int64), none)
        vectors = passages.offsets, passages.values, sentences.offsets, sentences.values
        return cls(doc_offsets, doc_terms, doc_weights.view(np.uint16), *vectors)

    def scores(
        self,
        documents: Int32,
        query: Float32,
        own: Int32,
        own_factors: Float32,
        prior_weight: float,
        sentence_share: float,
    ) -> Float32:
        """The scores [M] of documents by number.

        Args:
            documents: [M] numbers.
            query: [d] v(Q).
            own: [n] terms that are words of the query, ascending.
            own_factors: [n] lexical_weight · √idf(t).
            prior_weight: as in the formula.
            sentence_share: σ in the formula.
        """
        numbers = np.rint(query * QUERY_UNIT).astype(np.int16)
        return _scores(
            documents,
            numbers,
            own,
            own_factors,
            (self.doc_offsets, self.doc_terms, self.doc_weights, half_values()),
            (self.passage_offsets, self.passages),
            (self.sentence_offsets, self.sentences),
            np.float32(prior_weight),
            np.float32(sentence_share if len(self.sentences) else 0),
        )

    def best_passage(self, document: int, query: Float32) -> int | None:
        """Which passage of a document is nearest to a query; None if it has but one."""
        own = self.passages[self.passage_offsets[document] : self.passage_offsets[document + 1]]
        return int(np.argmax(own.astype(np.float32) @ query)) if len(own) > 1 else None


@cache
def half_values() -> Float32:
    """[65536] the number in half precision that each pattern of 16 bits stands for."""
    return np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)


Sets = tuple[Offsets, Int32, NDArray[np.uint16], Float32]
Vectors = tuple[Offsets, Int8]


@kernel
def _scores(
    documents: Int32,
    query: NDArray[np.int16],
    own: Int32,
    own_factors: Float32,
    sets: Sets,
    passages: Vectors,
    sentences: Vectors,
    prior_weight: float,
    sentence_share: float,
) -> Float32:
    """The scores of some documents; the terms of the query are in ascending order."""
    found = np.zeros(len(documents), np.float32)
    sieve = np.zeros(256, np.bool_)  # the last 8 bits of the query's terms
    for term in own:
        sieve[term & 255] = True
    scale = np.float32(1 / (UNIT * QUERY_UNIT))
    for i in range(len(documents)):
        document = documents[i]
        total = np.float32(0)
        for j in range(sets[0][document], sets[0][document + 1]):
            term = sets[1][j]
            if sieve[term & 255]:
                place = np.searchsorted(own, term)
                if place < len(own) and own[place] == term:
                    total += own_factors[place] * sets[3][sets[2][j]]
        near = _nearest(query, passages, document) * (1 - sentence_share)
        if sentence_share > 0:
            near += _nearest(query, sentences, document) * sentence_share
        found[i] = total + prior_weight * scale * np.float32(near)
    return found


@kernel
def _nearest(query: NDArray[np.int16], vectors: Vectors, document: int) -> float:
    """The largest product of a query with one of a document's vectors."""
    best = np.int32(-(2**31))
    for row in range(vectors[0][document], vectors[0][document + 1]):
        total = np.int32(0)
        for k in range(len(query)):
            total += np.int32(query[k]) * np.int32(vectors[1][row, k])
        best = max(best, total)
    return best
