"""Compiled loops that all constraints share: next tokens, and hashes of sets."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from tsgen.arrays import constant
from tsgen.constrain.constraint import Bool, Int, Int32

# Compilation: once per machine; compiled loops run without the interpreter's lock.

Function = TypeVar("Function", bound=Callable[..., object])
Number = TypeVar("Number", bound=np.generic)


def kernel(function: Function) -> Function:
    """Compile with numba at the first call and keep the machine code on disk.

    Kernels are called with one fixed type for each argument, so that each is compiled once. Stored
    code is renewed when a kernel's own file changes, not when a kernel that it calls does in
    another file: whoever changes one of those removes `__pycache__`.
    """
    return cast(Function, njit(nogil=True, cache=True)(function))


def fixed(values: ArrayLike, dtype: type[Number]) -> NDArray[Number]:
    """The same numbers in that type, as kernels see all long-lived arrays (see `constant`)."""
    return constant(np.asarray(values, dtype=dtype))


# Zobrist hashes of sets, which do not depend on order: the sum of one random number a member.
#
# Two independent 64-bit sums make a false match among n sets as unlikely as n² / 2¹²⁹. The random
# numbers come from a fixed mixing function, so there is no table to store and every run has the
# same.

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


class Entries(NamedTuple):
    """The fields of `Allowed` that spellings determine."""

    starts: Int
    ends: Int
    tokens: Int32
    closes: Bool
    low: Int32
    place: Int
    depth: Int32


@kernel
def next_tokens(
    offsets: Int,
    tokens: Int32,
    ranks: Int32,
    plain: Bool,
    low: Int,
    high: Int,
    depth: Int,
    skip: bool,
) -> Entries:
    """The distinct tokens at place `depth` of the units low:high of each cursor.

    `offsets` and `tokens` spell every unit, in the order of the spellings. A cursor's units are a
    slice of `ranks`, or where `plain` the units low:high themselves. With `skip` an entry goes on
    over all tokens that its units have in common.
    """
    size = len(low)
    starts, ends = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    room = 0
    for c in range(size):
        room += high[c] - low[c]
    found = np.empty(room, dtype=np.int32)
    closes = np.empty(room, dtype=np.bool_)
    first, after = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    places = np.empty(room, dtype=np.int64)
    end = 0
    for c in range(size):
        starts[c] = end
        i = low[c]
        while i < high[c]:
            unit = i if plain[c] else np.int64(ranks[i])
            place = offsets[unit] + depth[c]
            token, begin, last = tokens[place], i, unit
            i += 1
            while i < high[c]:
                other = i if plain[c] else np.int64(ranks[i])
                if tokens[offsets[other] + depth[c]] != token:
                    break
                last = other
                i += 1
            spelled = depth[c] + 1
            if skip:
                spelled = _common(offsets, tokens, unit, last, spelled)
            found[end], first[end], places[end], after[end] = token, begin, place, spelled
            closes[end] = offsets[unit] + spelled == offsets[unit + 1]
            end += 1
        ends[c] = end
    return Entries(starts, ends, found[:end], closes[:end], first[:end], places[:end], after[:end])


@kernel
def _common(offsets: Int, tokens: Int32, unit: np.int64, other: np.int64, depth: int) -> int:
    """How many tokens two units have in common, if they have `depth` at least."""
    if unit == other:
        return int(offsets[unit + 1] - offsets[unit])
    while tokens[offsets[unit] + depth] == tokens[offsets[other] + depth]:
        depth += 1
    return depth
