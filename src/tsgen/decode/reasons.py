"""Why a search by two stages found a document: its terms that the query named.

The query names terms in two ways: its own words, and the terms that the generator wrote for it. Of
a document's set T(D) those are shown that it names, the ones that add most to the score first, at
most `SHOWN`. Beside each stands |Y|, the number of documents that have it and all before it, as in
a search by generating. A document that was found though none of its terms was named shows its `FEW`
heaviest terms.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import constant
from tsgen.constrain.constraint import Int, Int32
from tsgen.constrain.kernels import kernel
from tsgen.decode.pool_ranking import WeightedSets
from tsgen.docids.term_set import TermSets

SHOWN, FEW = 8, 3

Float32 = NDArray[np.float32]
Offsets = NDArray[np.integer[Any]]
Postings = tuple[Offsets, Int32]


@dataclass(frozen=True, slots=True)
class Reasons:
    """The arrays of term sets that reasons are read from."""

    sets: WeightedSets
    postings: Postings  # Φ(t) of every term, ascending

    @classmethod
    def of(cls, sets: TermSets) -> Self:
        """The reasons of documents that have weights."""
        postings = constant(sets.post_offsets), constant(sets.post_docs)
        return cls(WeightedSets.of(sets), postings)

    def __call__(self, documents: Int32, named: Int32, factors: Float32) -> tuple[Int, Int32, Int]:
        """The terms shown for documents [K], one after the other.

        Args:
            documents: [K] numbers.
            named: [n] the terms that the query names, ascending.
            factors: [n] how much one of these adds to the score, times its weight in the document.

        Returns:
            [K + 1] where the terms of each document begin, the terms, and |Y| after each.
        """
        return _reasons(documents, named, factors, self.sets, self.postings)

    def warm_up(self) -> None:
        """Run the compiled loop once, so that its machine code is on disk for the first search."""
        none = np.zeros(0, np.int32)
        self(none, none, np.zeros(0, np.float32))


@kernel
def _reasons(
    documents: Int32,
    named: Int32,
    factors: Float32,
    sets: WeightedSets,
    postings: Postings,
) -> tuple[Int, Int32, Int]:
    """The terms and |Y| of each document's reason."""
    offsets = np.zeros(len(documents) + 1, np.int64)
    terms = np.empty(len(documents) * SHOWN, np.int32)
    sizes = np.empty(len(documents) * SHOWN, np.int64)
    added = np.empty(SHOWN, np.float32)
    end = 0
    for i in range(len(documents)):
        first, last = sets.offsets[documents[i]], sets.offsets[documents[i] + 1]
        count = 0
        for j in range(first, last):
            term = sets.terms[j]
            place = np.searchsorted(named, term)
            if place < len(named) and named[place] == term:
                value = factors[place] * sets.values[sets.weights[j]]
                count = _insert(terms[end : end + SHOWN], added, count, term, value)
        if not count:
            count = min(FEW, last - first)
            terms[end : end + count] = sets.terms[first : first + count]
        _count_valid(terms[end : end + count], sizes[end : end + count], postings)
        end += count
        offsets[i + 1] = end
    return offsets, terms[:end], sizes[:end]


@kernel
def _insert(terms: Int32, values: Float32, count: int, term: int, value: float) -> int:
    """Put a term into a list of the highest values, highest first; returns the list's length."""
    place = count
    while place > 0 and values[place - 1] < value:
        place -= 1
    if place == SHOWN:
        return count
    grown = min(count + 1, SHOWN)
    for j in range(grown - 1, place, -1):
        terms[j], values[j] = terms[j - 1], values[j - 1]
    terms[place], values[place] = term, value
    return grown


@kernel
def _count_valid(terms: Int32, sizes: Int, postings: Postings) -> None:
    """|Y| after each term: how many documents have it and all terms before it."""
    if not len(terms):
        return
    left = postings[1][postings[0][terms[0]] : postings[0][terms[0] + 1]]
    sizes[0] = len(left)
    for i in range(1, len(terms)):
        having = postings[1][postings[0][terms[i]] : postings[0][terms[i] + 1]]
        few, many = (left, having) if len(left) <= len(having) else (having, left)
        both = np.empty(len(few), np.int32)
        count, low = 0, 0
        for document in few:
            low += np.searchsorted(many[low:], document)
            if low == len(many):
                break
            if many[low] == document:
                both[count] = document
                count += 1
        left = both[:count]
        sizes[i] = count
