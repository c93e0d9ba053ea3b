"""The tokens that may follow a partial spelling, read off a sorted list of units."""

from typing import NamedTuple

import numpy as np

from tsgen.constrain.constraint import Bool, Int, Int32
from tsgen.constrain.kernel import kernel


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
