"""From weighed words to candidates: each document's distinct terms, heaviest first.

A term is a group of words with one key (their stem). In a document it weighs as much as its
heaviest word there. It has one spelling for the whole corpus: the word of its group with the
largest summed weight.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tsgen.terms.weighed import RESERVED, Weighed

FIXED_POINT = 2.0**16  # sums of whole numbers below 2^53 are exact in any order


@dataclass(frozen=True, slots=True)
class Candidates:
    """Row d holds the terms of document d: the heaviest first, ties in ascending order of key."""

    document_ids: list[str]
    offsets: NDArray[np.int64]  # [D + 1]
    terms: NDArray[np.int32]  # [E] numbers in ascending order of key
    weights: NDArray[np.float32]  # [E]
    spellings: list[str]  # [V] of each term

    @property
    def counts(self) -> NDArray[np.int64]:
        """[D] the number of candidates of each document."""
        return np.diff(self.offsets)

    def row(self, document: int) -> NDArray[np.int32]:
        """One document's terms, heaviest first."""
        return self.terms[self.offsets[document] : self.offsets[document + 1]]


def rank(weighed: Weighed, key: Callable[[str], str]) -> Candidates:
    """Group words by key and sort each document's groups."""
    keys = [word if word.startswith(RESERVED) else key(word) for word in weighed.words]
    number = {name: i for i, name in enumerate(sorted(set(keys)))}
    groups = np.array([number[name] for name in keys], np.int32)  # [W]
    packed = pack(weighed.weights, groups[weighed.word_ids])
    kept = sort_rows(weighed.offsets, packed, len(number))
    weights, terms = unpack(packed[kept])
    offsets = np.concatenate([[0], np.cumsum(kept)])[weighed.offsets]
    return Candidates(weighed.document_ids, offsets, terms, weights, _spell(weighed, groups))


def pack(weights: NDArray[np.float32], terms: NDArray[np.int32]) -> NDArray[np.uint64]:
    """One number whose ascending order is: weight descending, then term ascending.

    The bits of floats ≥ 0 are in the order of the floats.
    """
    bits = (weights + np.float32(0)).view(np.uint32)  # + 0 turns −0 into 0
    return (~bits).astype(np.uint64) << np.uint64(32) | terms.astype(np.uint64)


def unpack(packed: NDArray[np.uint64]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """The weights and terms of packed numbers."""
    bits = ~(packed >> np.uint64(32)).astype(np.uint32)
    return bits.view(np.float32), (packed & np.uint64(0xFFFFFFFF)).astype(np.int32)


@njit(cache=True)
def sort_rows(
    offsets: NDArray[np.int64], packed: NDArray[np.uint64], vocabulary: int
) -> NDArray[np.bool_]:
    """Sort each row in place; True [E] where a term occurs first, so with its largest weight."""
    kept = np.zeros(len(packed), np.bool_)
    last_row = np.full(vocabulary, -1, np.int64)
    for row in range(len(offsets) - 1):
        packed[offsets[row] : offsets[row + 1]].sort()
        for at in range(offsets[row], offsets[row + 1]):
            term = packed[at] & np.uint64(0xFFFFFFFF)
            kept[at] = last_row[term] != row
            last_row[term] = row
    return kept


def _spell(weighed: Weighed, groups: NDArray[np.int32]) -> list[str]:
    """Each group's word of largest summed weight; ties go to the first in ascending order."""
    totals = np.bincount(
        weighed.word_ids, np.rint(weighed.weights * FIXED_POINT), minlength=len(weighed.words)
    )
    spelled: dict[int, tuple[float, str]] = {}
    for group, total, word in zip(groups.tolist(), totals.tolist(), weighed.words, strict=True):
        entry = (-total, word)
        if group not in spelled or entry < spelled[group]:
            spelled[group] = entry
    return [spelled[group][1] for group in range(len(spelled))]
