"""Bitmaps of the documents that hold a heavy term: a membership test costs one read, the common
documents of two heavy terms cost a pass over words instead of a merge of long lists."""

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int, Int32
from tsgen.constrain.kernel import kernel

Bitmaps = NDArray[np.uint64]  # [H, words]


@kernel
def popcount(word: np.uint64) -> int:
    """The number of ones in a word."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def lowest_one(word: np.uint64) -> int:
    """The position of the lowest one in a word that is not zero."""
    return popcount((word & (~word + np.uint64(1))) - np.uint64(1))


@kernel
def has_bit(row: NDArray[np.uint64], position: int) -> bool:
    """Whether the bit at a position of a bitmap [words] is set."""
    return bool((row[position >> 6] >> np.uint64(position & 63)) & np.uint64(1))


@kernel
def count_ones(bits: NDArray[np.uint64]) -> int:
    """The number of ones in a bitmap."""
    total = 0
    for word in bits:
        total += popcount(word)
    return total


@kernel
def list_ones(bits: NDArray[np.uint64], out: Int32, end: int) -> int:
    """Write the positions of the ones to `out` from `end` on; the new end."""
    for word in range(len(bits)):
        rest = bits[word]
        while rest:
            out[end] = 64 * word + lowest_one(rest)
            end += 1
            rest &= rest - np.uint64(1)
    return end


@kernel
def make_bitmaps(offsets: Int, values: Int32, rows: Int32, size: int) -> Bitmaps:
    """One bitmap of `size` bits for each of some rows of a CSR table."""
    bitmaps = np.zeros((len(rows), (size + 63) >> 6), dtype=np.uint64)
    for i in range(len(rows)):
        for j in range(offsets[rows[i]], offsets[rows[i] + 1]):
            bitmaps[i, values[j] >> 6] |= np.uint64(1) << np.uint64(values[j] & 63)
    return bitmaps
