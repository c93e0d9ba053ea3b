"""The whole score of the documents in a pool, where no beam has a part in it.

    score(Q, D) = prior_weight · r(Q, D) + lexical_weight · s(Q, D)

    s(Q, D) = Σ_{t ∈ Q ∩ T(D)} √idf(t) · w_D(t)

in which r is what the vectors of the document's passages and sentences say (see
`tsgen.terms.passages`), and w_D(t) are the weights that were kept with T(D). Only the rows of the
pool are read, whatever the size of the collection.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import constant
from tsgen.constrain.kernels import kernel
from tsgen.docids.term_set import TermSets
from tsgen.terms.passages import UNIT, DocumentVectors

QUERY_UNIT = 8192  # what 1 is kept as in the query's vector

Float32 = NDArray[np.float32]
Int32 = NDArray[np.int32]
Int8 = NDArray[np.int8]
Offsets = NDArray[np.integer[Any]]


class WeightedSets(NamedTuple):
    """T(D) and its weights, as compiled loops read them."""

    offsets: Offsets  # [D + 1]
    terms: Int32  # [E] heaviest first
    weights: NDArray[np.uint16]  # [E] w_D(t): the bits of numbers in half precision
    values: Float32  # [65536] the number that each pattern of bits stands for

    @classmethod
    def of(cls, sets: TermSets) -> Self:
        """The arrays of term sets that have weights."""
        assert sets.doc_weights is not None
        bits = constant(sets.doc_weights.view(np.uint16))
        return cls(constant(sets.doc_offsets), constant(sets.doc_terms), bits, half_values())


@dataclass(frozen=True, slots=True)
class PoolRanking:
    """The arrays by which the documents of a pool are scored."""

    sets: WeightedSets
    vectors: DocumentVectors

    @classmethod
    def of(cls, sets: TermSets) -> Self:
        """The ranking of documents that have weights and vectors."""
        vectors = sets.doc_vectors
        assert vectors is not None
        arrays = constant(vectors.offsets), constant(vectors.passages), constant(vectors.values)
        return cls(WeightedSets.of(sets), DocumentVectors(*arrays))

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
            self.sets,
            (self.vectors.offsets, self.vectors.passages, self.vectors.values),
            prior_weight,
            sentence_share,
        )

    def warm_up(self) -> None:
        """Run the compiled loop once, so that its machine code is on disk for the first search."""
        query = np.zeros(self.vectors.values.shape[1], np.float32)
        nothing = np.zeros(0, np.int32), np.zeros(0, np.float32)
        self.scores(nothing[0], query, *nothing, 0.0, 0.0)

    def best_passage(self, document: int, query: Float32) -> int | None:
        """Which passage of a document is nearest to a query; None if it has but one."""
        count = int(self.vectors.passages[document])
        own = self.vectors.row(document)[:count]
        return int(np.argmax(own.astype(np.float32) @ query)) if count > 1 else None


@cache
def half_values() -> Float32:
    """[65536] the number in half precision that each pattern of 16 bits stands for."""
    return constant(np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32))


Vectors = tuple[Offsets, Int32, Int8]


@kernel
def _scores(
    documents: Int32,
    query: NDArray[np.int16],
    own: Int32,
    own_factors: Float32,
    sets: WeightedSets,
    vectors: Vectors,
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
        for j in range(sets.offsets[document], sets.offsets[document + 1]):
            term = sets.terms[j]
            if sieve[term & 255]:
                place = np.searchsorted(own, term)
                if place < len(own) and own[place] == term:
                    total += own_factors[place] * sets.values[sets.weights[j]]
        first, last = vectors[0][document], vectors[0][document + 1]
        between = first + vectors[1][document]
        near = np.float32(_nearest(query, vectors[2], first, between))
        if sentence_share > 0 and between < last:
            sentence = np.float32(_nearest(query, vectors[2], between, last))
            near = (1 - sentence_share) * near + sentence_share * sentence
        found[i] = total + np.float32(prior_weight) * scale * near
    return found


@kernel
def _nearest(query: NDArray[np.int16], values: Int8, first: int, last: int) -> int:
    """The largest product of a query with one of some rows."""
    best = np.int32(-(2**31))
    for row in range(first, last):
        vector, total = values[row], np.int32(0)
        for k in range(len(query)):  # in 32 bits, so that it is compiled to vector instructions
            total = np.int32(total + np.int32(np.int32(query[k]) * np.int32(vector[k])))
        best = max(best, total)
    return int(best)
