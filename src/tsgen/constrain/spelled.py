"""The tokens that may follow a partial spelling, read off a sorted list of units."""

import numpy as np

from tsgen.constrain.constraint import Bool, Int, Int32
from tsgen.constrain.kernel import kernel


@kernel
def next_tokens(
    offsets: Int,
    tokens: Int32,
    ranks: Int32,
    plain: Bool,
    low: Int,
    high: Int,
    depth: Int,
) -> tuple[Int, Int, Int32, Bool, Int32]:
    """The distinct tokens at place `depth` of the units low:high of each cursor.

    `offsets` and `tokens` spell every unit, in the order of the spellings. A cursor's units are a
    slice of `ranks`, or where `plain` the units low:high themselves. Returns starts, ends, tokens,
    closes and low as in `Allowed`.
    """
    size = len(low)
    starts, ends = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    room = 0
    for c in range(size):
        room += high[c] - low[c]
    found = np.empty(room, dtype=np.int32)
    closes = np.empty(room, dtype=np.bool_)
    first = np.empty(room, dtype=np.int32)
    end = 0
    for c in range(size):
        starts[c] = end
        last = np.int32(-1)
        for i in range(low[c], high[c]):
            unit = i if plain[c] else np.int64(ranks[i])
            place = offsets[unit] + depth[c]
            if end == starts[c] or tokens[place] != last:
                last = tokens[place]
                found[end] = last
                closes[end] = place + 1 == offsets[unit + 1]
                first[end] = i
                end += 1
        ends[c] = end
    return starts, ends, found[:end], closes[:end], first[:end]
