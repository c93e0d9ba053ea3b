"""Telling documents with equal term sets apart, whatever the order of the documents.

The paper swaps the last term of one of them for its next-heaviest until the sets differ. In full:

- of the documents with equal sets the one with the fewest candidates, then the smallest id, keeps
  its set (it may have no other); the rest move, all movers of the corpus in that same order;
- a document moves to the first combination of N of its candidates, in lexicographic order of their
  ranks, that no document has. That is at first the paper's swap of the last term for the next ones,
  then the last two are swapped, and so on. When all combinations are taken, sets of N + 1 terms
  follow, up to all its words, which no document with other words can have.

Duplicates (same words, same N heaviest) move as one.
"""

from collections.abc import Iterator
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from tsgen.terms.rank import Candidates
from tsgen.terms.set_hash import Hashes, PrefixHashes, term_hashes

Bool = NDArray[np.bool_]
Ranks = tuple[int, ...]
Duplicates = list[int]
"""Documents with the same words and the same set, in ascending order of id."""


def resolve(candidates: Candidates, n: int) -> dict[int, Ranks]:
    """The documents that cannot keep their N heaviest terms, with the ranks they take instead."""
    ids, counts = candidates.document_ids, candidates.counts

    def turn(duplicates: Duplicates) -> tuple[int, str]:
        return int(counts[duplicates[0]]), ids[duplicates[0]]

    hashes = PrefixHashes(candidates.offsets, candidates.terms)
    movers: list[Duplicates] = []
    for documents in _contested(hashes.first(n), hashes.all()):
        by_id = [sorted(duplicates, key=ids.__getitem__) for duplicates in documents]
        movers += sorted(by_id, key=turn)[1:]
    taken = _Taken(hashes.first(n))
    moves: dict[int, Ranks] = {}
    for duplicates in sorted(movers, key=turn):
        moves |= _move(candidates, duplicates, n, taken)
    return moves


def unique(hashes: Hashes, contents: Hashes) -> bool:
    """Whether only documents with equal contents have equal sets."""
    _, same_set, same_words = _sorted(hashes, contents)
    return not (same_set & ~same_words).any()


class _Taken:
    """The sets that documents have: those they started with, and those they moved to."""

    def __init__(self, hashes: Hashes) -> None:
        self._start = np.unique(hashes)
        self._moved: set[int] = set()

    def __contains__(self, value: int) -> bool:
        at = np.searchsorted(self._start, np.uint64(value))
        return value in self._moved or bool((self._start[at : at + 1] == value).any())

    def add(self, value: int) -> None:
        self._moved.add(value)


def _sorted(hashes: Hashes, contents: Hashes) -> tuple[NDArray[np.int64], Bool, Bool]:
    """Documents sorted by set, then content; where one has the set, and the words, of the last."""
    order = np.lexsort((contents, hashes))  # [D]
    same_set = hashes[order[1:]] == hashes[order[:-1]]  # [D - 1]
    same_words = same_set & (contents[order[1:]] == contents[order[:-1]])
    return order, same_set, same_words


def _contested(hashes: Hashes, contents: Hashes) -> Iterator[list[Duplicates]]:
    """Each set that documents with different words have: those documents."""
    order, same_set, same_words = _sorted(hashes, contents)
    number = np.concatenate([[0], np.cumsum(~same_set)])  # [D] of the set, in sorted order
    for wanted in np.unique(number[1:][same_set & ~same_words]):
        start, end = np.searchsorted(number, [wanted, wanted + 1])
        borders = np.flatnonzero(~same_words[start : end - 1]) + 1
        yield [part.tolist() for part in np.split(order[start:end], borders)]


def _move(
    candidates: Candidates, duplicates: Duplicates, n: int, taken: _Taken
) -> dict[int, Ranks]:
    """Give documents the first free combination of their first one's candidates."""
    rows = [candidates.row(document) for document in duplicates]
    hashes = term_hashes(rows[0]).tolist()
    for ranks in combinations_by_rank(len(hashes), n):
        value = sum(hashes[rank] for rank in ranks) % 2**64
        if value not in taken:
            break
    taken.add(value)
    chosen = set(rows[0][list(ranks)].tolist())
    return {
        document: tuple(rank for rank, term in enumerate(row.tolist()) if term in chosen)
        for document, row in zip(duplicates, rows, strict=True)
    }


def combinations_by_rank(count: int, n: int) -> Iterator[Ranks]:
    """All sets of N ranks, then of N + 1, up to all of them; each size in lexicographic order."""
    return chain.from_iterable(
        combinations(range(count), size) for size in range(min(n, count), count + 1)
    )
