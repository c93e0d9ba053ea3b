"""Hashes of sets that do not depend on order: the sum of one random number a member (Zobrist).

Two independent 64-bit sums make a false match among n sets as unlikely as n² / 2¹²⁹. The random
numbers come from a fixed mixing function, so there is no table to store and every run has the same.
"""

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int
from tsgen.constrain.kernel import kernel

Keys = NDArray[np.uint64]

_STRIDES = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)


def member_keys(members: NDArray[np.integer]) -> Keys:
    """[M, 2] the numbers that members [M] add to a set's key (splitmix64 of two sequences)."""
    mixed = (members.astype(np.uint64)[:, None] + np.uint64(1)) * _STRIDES
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@kernel
def first_equal(keys: Keys) -> Int:
    """[M] for each key [M, 2] the first position that holds the same key."""
    size = 4
    while size < 2 * len(keys):
        size *= 2
    table = np.zeros(size, dtype=np.int64) - 1
    first = np.empty(len(keys), dtype=np.int64)
    for i in range(len(keys)):
        slot = np.int64(keys[i, 0] & np.uint64(size - 1))
        while table[slot] >= 0 and (
            keys[table[slot], 0] != keys[i, 0] or keys[table[slot], 1] != keys[i, 1]
        ):
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = i
        first[i] = table[slot]
    return first
