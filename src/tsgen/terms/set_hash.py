"""Hashes of sets of terms: the sum of its terms' hashes, so the order of the terms does not matter.

Selection uses equal hashes for equal sets. Should two different sets ever hash alike, a document
would give up a term without need; sets that must differ still do.
"""

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def term_hashes(terms: NDArray[np.int32]) -> Hashes:
    """A well-mixed 64-bit number for each term (the finaliser of splitmix64)."""
    x = (terms.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class PrefixHashes:
    """The hash of the first n terms of every row, for any n."""

    def __init__(self, offsets: NDArray[np.int64], terms: NDArray[np.int32]) -> None:
        self._start = offsets[:-1]
        self._counts = np.diff(offsets)
        # Differences of running sums are right although the sums wrap around.
        self._sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(term_hashes(terms))])

    def first(self, n: int) -> Hashes:
        """[D] of the first n terms of each row, or of all where it has fewer."""
        end = self._start + np.minimum(self._counts, n)
        hashes: Hashes = self._sums[end] - self._sums[self._start]
        return hashes

    def all(self) -> Hashes:
        """[D] of all terms of each row."""
        return self.first(int(self._counts.max(initial=0)))
