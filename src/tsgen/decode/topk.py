"""The best of many: continuations of every query, in one pass over the allowed tokens with a heap a
query; and documents by their scores."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Bool, Int, Int32
from tsgen.constrain.kernels import kernel

Float = NDArray[np.float64]


def best_of(scores: NDArray[np.float32], documents: Int32, count: int) -> Int:
    """The places of the highest scores, highest first; ties by document number."""
    places = np.arange(len(scores))
    if count < len(scores):
        bar = np.partition(scores, len(scores) - count)[len(scores) - count]
        above, equal = np.flatnonzero(scores > bar), np.flatnonzero(scores == bar)
        equal = equal[np.argsort(documents[equal], kind="stable")]
        places = np.concatenate((above, equal[: count - len(above)]))
    return places[np.lexsort((documents[places], -scores[places]))]


class Best(NamedTuple):
    """For each query its best entries, best first; ties by cursor, then by entry."""

    counts: Int  # [Q]
    cursors: Int  # [Q, room]
    entries: Int  # [Q, room]
    scores: Float  # [Q, room]


@kernel
def best_entries(
    logits: NDArray[np.float32],
    score: Float,
    normaliser: Float,
    floor: Float,
    first: Int,
    starts: Int,
    ends: Int,
    column: Int32,
    closes: Bool,
    closed_room: int,
    open_room: int,
) -> tuple[Best, Best]:
    """The best entries that close a unit, and the best that leave it open, for every query.

    Entry e of cursor c scores score[c] + logits[c, column[e]] − normaliser[c]. Those below the
    query's `floor` are left out. Query q has the cursors first[q]:first[q + 1].
    """
    queries = len(first) - 1
    closed, opened = _empty(queries, closed_room), _empty(queries, open_room)
    for q in range(queries):
        for c in range(first[q], first[q + 1]):
            row, offset = logits[c], score[c] - normaliser[c]
            bar = max(floor[q], min(_bar(closed, q), _bar(opened, q)))
            if score[c] < bar:
                continue  # log p ≤ 0: nothing here can be better than its prefix
            for e in range(starts[c], ends[c]):
                value = offset + row[np.uint32(column[e])]
                if value >= bar:
                    # Rounding must not lift an entry above its prefix: pruning counts on log p ≤ 0.
                    _push(closed if closes[e] else opened, q, c, e, min(score[c], value))
                    bar = max(floor[q], min(_bar(closed, q), _bar(opened, q)))
        _sort(closed, q)
        _sort(opened, q)
    return closed, opened


@kernel
def valid_normaliser(logits: NDArray[np.float32], starts: Int, ends: Int, column: Int32) -> Float:
    """[C] log Σ exp logit over the allowed tokens of each cursor."""
    normaliser = np.empty(len(starts))
    for c in range(len(starts)):
        largest = -np.inf
        for e in range(starts[c], ends[c]):
            largest = max(largest, logits[c, column[e]])
        total = 0.0
        for e in range(starts[c], ends[c]):
            total += np.exp(logits[c, column[e]] - largest)
        normaliser[c] = largest + np.log(total)
    return normaliser


@kernel
def _empty(queries: int, room: int) -> Best:
    return Best(
        np.zeros(queries, dtype=np.int64),
        np.empty((queries, room), dtype=np.int64),
        np.empty((queries, room), dtype=np.int64),
        np.empty((queries, room), dtype=np.float64),
    )


@kernel
def _bar(best: Best, q: int) -> float:
    """What an entry must reach to come in: −∞ while there is room, else the worst score; +∞ where
    none is wanted."""
    room = best.scores.shape[1]
    if best.counts[q] < room:
        return -np.inf
    return best.scores[q, 0] if room else np.inf


@kernel
def _push(best: Best, q: int, cursor: int, entry: int, score: float) -> None:
    """Add an entry; in a full heap it takes the place of the worst, if it is better.

    Entries come in the order of cursors and entries, so of two equal ones the later is the worse.
    """
    size = best.counts[q]
    if size == best.scores.shape[1]:
        if score > best.scores[q, 0]:
            _place(best, q, 0, size, cursor, entry, score)
        return
    best.counts[q] = size + 1
    place = size
    while place > 0 and _worse_than(best, q, cursor, entry, score, (place - 1) >> 1):
        _copy(best, q, (place - 1) >> 1, place)
        place = (place - 1) >> 1
    best.cursors[q, place], best.entries[q, place], best.scores[q, place] = cursor, entry, score


@kernel
def _place(
    best: Best, q: int, place: int, size: int, cursor: int, entry: int, score: float
) -> None:
    """Let an entry sink from `place` to where it belongs in the heap of `size`, worst on top."""
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _worse_than(
            best,
            q,
            best.cursors[q, child + 1],
            best.entries[q, child + 1],
            best.scores[q, child + 1],
            child,
        ):
            child += 1
        if _worse_than(best, q, cursor, entry, score, child):
            break
        _copy(best, q, child, place)
        place = child
    best.cursors[q, place], best.entries[q, place], best.scores[q, place] = cursor, entry, score


@kernel
def _worse_than(best: Best, q: int, cursor: int, entry: int, score: float, other: int) -> bool:
    """Whether an entry is worse than the one at place `other`."""
    if score != best.scores[q, other]:
        return bool(score < best.scores[q, other])
    if cursor != best.cursors[q, other]:
        return bool(cursor > best.cursors[q, other])
    return bool(entry > best.entries[q, other])


@kernel
def _copy(best: Best, q: int, source: int, target: int) -> None:
    best.cursors[q, target] = best.cursors[q, source]
    best.entries[q, target] = best.entries[q, source]
    best.scores[q, target] = best.scores[q, source]


@kernel
def _sort(best: Best, q: int) -> None:
    """Turn the heap into a list, best first: the worst moves to the end again and again."""
    for end in range(best.counts[q] - 1, 0, -1):
        cursor, entry, score = best.cursors[q, end], best.entries[q, end], best.scores[q, end]
        _copy(best, q, 0, end)
        _place(best, q, 0, end, cursor, entry, score)
