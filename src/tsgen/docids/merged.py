"""Term sets that change: those of a base, less some documents, and those of others added.

What comes out is what `TermSets.of` makes of the same sets in the same order, without a loop over
the base's documents.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tsgen.docids.term_set import TermSets, invert
from tsgen.terms.arrays import offsets_of, smallest_offsets
from tsgen.terms.lookup import Lookup
from tsgen.terms.strings import Offsets, Strings

Int32 = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Row:
    """A document that is not in the base: its id, T(D) as `Merger.numbers` gives it, weights."""

    id: str
    terms: Int32
    weights: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Merged:
    """Term sets, and the terms behind their numbers as the merger counts them."""

    sets: TermSets
    terms: Int32  # [V]

    def kept(self, before: "Merged") -> Int32:
        """[V] which term of `before`, by the same merger, each term was, or −1."""
        place = np.full(max(self.terms.max(initial=-1), before.terms.max(initial=-1)) + 1, -1)
        place[before.terms] = np.arange(len(before.terms))
        return place[self.terms].astype(np.int32)


class Merger:
    """Merges into one base. Its numbers of terms never change: first the base's, then new ones."""

    def __init__(self, base: TermSets) -> None:
        self._base = base
        self._new: list[str] = []
        self._places: list[int] = []  # of the new terms in the base's vocabulary
        self._number: dict[str, int] = {}  # of the terms that were asked for

    def numbers(self, terms: Sequence[str]) -> Int32:
        """The numbers of terms, new ones for those never seen."""
        return np.array([self._number_of(term) for term in terms], np.int32)

    def base(self) -> Merged:
        """The base itself."""
        return Merged(self._base, np.arange(len(self._base.vocabulary), dtype=np.int32))

    def merge(self, kept: NDArray[np.integer], rows: Sequence[Row]) -> Merged:
        """The documents `kept` (ascending numbers) of the base, then `rows`."""
        base = self._base
        lengths = np.diff(base.doc_offsets)[kept].astype(np.int64)
        taken = np.zeros(len(base), np.bool_)
        taken[kept] = True
        entries = np.repeat(taken, np.diff(base.doc_offsets))
        terms = np.concatenate([base.doc_terms[entries], *(row.terms for row in rows)])
        sizes = np.concatenate([lengths, np.array([len(row.terms) for row in rows], np.int64)])
        weights = None
        if base.doc_weights is not None:
            added = (row.weights.astype(np.float16) for row in rows)
            weights = np.concatenate([base.doc_weights[entries], *added])
        used, vocabulary = self._used(terms)
        number = np.zeros(len(base.vocabulary) + len(self._new), np.int32)
        number[used] = np.arange(len(used), dtype=np.int32)
        documents = base.documents.take(kept).followed_by(Strings.pack(row.id for row in rows))
        new = tuple(self._new)

        def look_up() -> Lookup:
            return base.lookup.with_terms(new)

        arrays = _inverted(sizes, number[terms], len(vocabulary))
        sets = TermSets(documents, vocabulary, *arrays, weights, base.words, look_up)
        return Merged(sets, used)

    def _number_of(self, term: str) -> int:
        if term not in self._number:
            place, number = self._base.vocabulary.place(term), self._base.vocabulary.find(term)
            if number is None:
                number = len(self._base.vocabulary) + len(self._new)
                self._new.append(term)
                self._places.append(place)
            self._number[term] = number
        return self._number[term]

    def _used(self, terms: Int32) -> tuple[Int32, Strings]:
        """The terms that occur, in ascending order of spelling, and their spellings."""
        known = len(self._base.vocabulary)
        counts = np.bincount(terms, minlength=known + len(self._new))
        order = np.arange(known)
        sorted_new = sorted(range(len(self._new)), key=self._new.__getitem__)
        places = np.array([self._places[i] for i in sorted_new], np.int64)
        order = np.insert(order, places, known + np.array(sorted_new, np.int64))
        used = order[counts[order] > 0]
        both = self._base.vocabulary.followed_by(Strings.pack(self._new))
        return used.astype(np.int32), both.take(used)


def _inverted(
    sizes: NDArray[np.int64], terms: Int32, vocabulary: int
) -> tuple[Offsets, Int32, Offsets, Int32]:
    """The arrays of sets with so many terms each, of a vocabulary of that size."""
    doc_offsets = smallest_offsets(offsets_of(sizes))
    post_offsets = smallest_offsets(offsets_of(np.bincount(terms, minlength=vocabulary)))
    return doc_offsets, terms, post_offsets, invert(doc_offsets, terms, post_offsets)
