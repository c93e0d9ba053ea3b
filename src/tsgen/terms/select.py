"""Selection: T(D) is the N heaviest terms of D, and no two documents have the same T(D).

A document with fewer than N words has all of them; one without words has a term made from its id.
Documents with the same words and the same N heaviest are duplicates: they share a set and are found
together. How other documents with equal sets are told apart is in `unique.py`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tsgen.terms.arrays import offsets_of
from tsgen.terms.rank import Candidates
from tsgen.terms.set_hash import Hashes, PrefixHashes
from tsgen.terms.unique import resolve, unique


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of its candidates each document takes."""

    n: int
    offsets: NDArray[np.int64]  # [D + 1]
    terms: NDArray[np.int32]  # [E] heaviest first
    weights: NDArray[np.float32]  # [E]
    first: NDArray[np.int32]  # [D] the lowest-numbered document with the same set
    moved: int  # documents that gave up a term to differ from another


def select(candidates: Candidates, n: int | None) -> Selection:
    """T(D) of every document; `n` None takes the smallest N that needs no swaps."""
    n = smallest_n(candidates) if n is None else n
    moves = resolve(candidates, n)
    lengths = np.minimum(candidates.counts, n)
    for document, ranks in moves.items():
        lengths[document] = len(ranks)
    offsets = offsets_of(lengths)
    at = np.arange(offsets[-1]) + np.repeat(candidates.offsets[:-1] - offsets[:-1], lengths)
    for document, ranks in moves.items():
        place = slice(offsets[document], offsets[document + 1])
        at[place] = candidates.offsets[document] + np.array(ranks)
    terms = candidates.terms[at]
    first = first_with_same(PrefixHashes(offsets, terms).all())
    return Selection(n, offsets, terms, candidates.weights[at], first, len(moves))


def smallest_n(candidates: Candidates) -> int:
    """The smallest N at which only documents with the same words have the same set.

    Uniqueness is not monotone in N, so every N is tried; N = all words always does.
    """
    hashes = PrefixHashes(candidates.offsets, candidates.terms)
    contents, most = hashes.all(), int(candidates.counts.max(initial=1))
    wanted = (n for n in range(1, most) if unique(hashes.first(n), contents))
    return next(wanted, most)


def first_with_same(hashes: Hashes) -> NDArray[np.int32]:
    """[D] the lowest number of a row with an equal hash."""
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    return first[inverse].astype(np.int32)
