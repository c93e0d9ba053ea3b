"""The constraint for sequences (titles, URLs, codes): a prefix tree as a sorted list.

The distinct sequences are sorted token by token, so a prefix is a slice of them and its length. A
sequence that begins another one completes where it ends while the other one goes on; with an `end`
token the model itself says which of them it means.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Allowed, Bool, Cursor, Int, Int32, Ragged, spans
from tsgen.constrain.kernels import Keys, fixed, next_tokens
from tsgen.errors import ConfigError

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrieFrontier:
    """Rows after equally many units: each a slice low:high of a list of sequences."""

    steps: int  # units generated
    low: Int  # [R]
    high: Int  # [R]
    depth: Int  # [R] tokens generated
    ranks: Int32 | None  # the sequences that the slices are of; None: of all
    members: Ragged  # for each entry of that list the documents that have the sequence


class SequenceTrie:
    """The constraint for identifiers that are sequences; several documents may share one."""

    def __init__(
        self,
        sequences: Ragged,
        *,
        end: int | None = None,
        terminator: int | None = None,
        labels: Ragged | None = None,
    ) -> None:
        """Sort the sequences.

        Args:
            sequences: the tokens of each document.
            end: a token to append to every sequence, so that the model says where it ends.
            terminator: the last token of a unit; None: every token is a unit.
            labels: the number of each unit of each document, to show in hits (`end` has −1); by
                default the last token of the unit.
        """
        sequences = sequences if end is None else _append(sequences, end)
        closers = [token for token in (terminator, end) if token is not None]
        self._closers = None if terminator is None else closers
        self._labels = sequences if labels is None else labels
        self._units = np.bincount(self._count_units(sequences))
        order, first = _sorted(sequences)
        spelled = sequences.take(order[first])
        self._offsets = fixed(spelled.offsets, np.int64)
        self._tokens = fixed(spelled.values, np.int32)
        self._members = Ragged(np.append(first, len(order)), order.astype(np.int32))
        self._rank_of = np.empty(len(order), dtype=np.int32)
        self._rank_of[order] = np.repeat(np.arange(len(first)), np.diff(self._members.offsets))

    @cached_property
    def alphabet(self) -> Int32:
        """The tokens that occur in sequences, ascending."""
        return np.unique(self._tokens)

    @property
    def longest(self) -> int:
        """The most units of a sequence."""
        return len(self._units) - 1

    def ends(self, units: int) -> bool:
        """Whether some sequence has exactly that many units."""
        return units <= self.longest and bool(self._units[units])

    @property
    def spelled(self) -> Int32:
        """The tokens of all sequences, in their order."""
        return self._tokens

    def start(
        self,
        batch: int,
        pool: Ragged | None = None,
        exact: bool = False,  # noqa: ARG002 - a trie is always exact
        skip: bool = False,  # noqa: ARG002 - every token is a unit to show
    ) -> TrieFrontier:
        """Empty prefixes, each of all sequences or of those of its pool."""
        low, high = np.zeros(batch, dtype=np.int64), np.full(batch, len(self._offsets) - 1)
        ranks, members = None, self._members
        if pool is not None:
            low, high, ranks, members = self._pooled(pool)
        return TrieFrontier(0, low, high, np.zeros(batch, dtype=np.int64), ranks, members)

    def cursor(self, frontier: TrieFrontier, rows: Int) -> Cursor:
        """Cursors after the rows' prefixes; a sequence that ends there is not continued."""
        low, high, depth = frontier.low[rows], frontier.high[rows], frontier.depth[rows]
        return Cursor(rows, low + self._ended(frontier)[rows], high, depth)

    def allowed(self, frontier: TrieFrontier, cursor: Cursor) -> Allowed:
        """The tokens that may come next."""
        plain = np.full(len(cursor), frontier.ranks is None)
        ranks = self._rank_of[:0] if frontier.ranks is None else frontier.ranks
        entries = next_tokens(
            self._offsets,
            self._tokens,
            fixed(ranks, np.int32),
            plain,
            cursor.low,
            cursor.high,
            cursor.depth,
            False,
        )
        closes = np.ones_like(entries.closes)
        if self._closers:
            closes = np.isin(entries.tokens, self._closers)
        return Allowed(*entries._replace(closes=closes), np.ones(len(cursor), dtype=np.bool_))

    def leads(self, frontier: TrieFrontier, cursor: Cursor) -> Bool:  # noqa: ARG002
        """[C] always true, since all allowed tokens are valid."""
        return np.ones(len(cursor), dtype=np.bool_)

    def units(self, frontier: TrieFrontier, cursor: Cursor) -> Int:
        """[C] the label of the unit just closed, of the first document with the prefix."""
        documents = frontier.members.values[frontier.members.offsets[cursor.low]]
        place = self._labels.offsets[documents] + frontier.steps
        inside = place < self._labels.offsets[documents + 1]
        labels = np.full(len(cursor), -1, dtype=np.int64)
        labels[inside] = self._labels.values[place[inside]]
        return labels

    def keys(self, frontier: TrieFrontier, cursor: Cursor) -> Keys:  # noqa: ARG002
        """[C, 2] the slice and the depth, which are different for different prefixes."""
        return np.stack((cursor.low, cursor.depth), axis=1).astype(np.uint64)

    def close(self, frontier: TrieFrontier, cursor: Cursor) -> TrieFrontier:
        """The prefixes with one more unit."""
        ranks, members = frontier.ranks, frontier.members
        return TrieFrontier(
            frontier.steps + 1, cursor.low, cursor.high, cursor.depth, ranks, members
        )

    def completed(self, frontier: TrieFrontier) -> Ragged:
        """For each row the documents whose sequence ends there."""
        picks = np.where(self._ended(frontier), frontier.low, len(frontier.members.offsets) - 1)
        nothing = np.append(frontier.members.offsets, frontier.members.offsets[-1])
        return Ragged(nothing, frontier.members.values).take(picks)

    def valid(self, frontier: TrieFrontier) -> Int:
        """[R] the number of documents whose sequence begins with the prefix."""
        ends = frontier.members.offsets
        return ends[frontier.high] - ends[frontier.low]

    def best(self, frontier: TrieFrontier, query: Int, values: NDArray[np.float32]) -> Float:
        """[R] the largest value among the documents that each row can still lead to.

        Args:
            frontier: R rows.
            query: [R] the query of each row.
            values: [Q, D] a value of each document for each query.
        """
        ends = frontier.members.offsets
        starts = ends[frontier.low]
        valid = spans(frontier.members.values, starts, ends[frontier.high] - starts)
        found = values[np.repeat(query, np.diff(valid.offsets)), valid.values]
        best: Float = np.maximum.reduceat(found, valid.offsets[:-1]).astype(np.float64)
        return best

    def identifier(self, document: int) -> list[int]:
        """The labels of the document's units."""
        labels: list[int] = self._labels.row(document).tolist()
        return labels

    def decided(self, frontier: TrieFrontier, rows: Int) -> Int:
        """[C] the only document whose sequence begins with the prefix, or -1."""
        first = frontier.members.offsets[frontier.low[rows]]
        documents = np.full(len(rows), -1, dtype=np.int64)
        only = self.valid(frontier)[rows] == 1
        documents[only] = frontier.members.values[first[only]]
        return documents

    def _ended(self, frontier: TrieFrontier) -> Bool:
        """[R] whether the first sequence of a row's slice, the shortest, ends at its depth."""
        some = frontier.low < frontier.high
        rank = np.where(some, frontier.low, 0)
        if frontier.ranks is not None and len(frontier.ranks):
            rank = frontier.ranks[np.where(some, frontier.low, 0)]
        ended: Bool = some & (self._offsets[rank + 1] - self._offsets[rank] == frontier.depth)
        return ended

    def _pooled(self, pool: Ragged) -> tuple[Int, Int, Int32, Ragged]:
        """Each row's own list of sequences, and the documents of the pool that have them."""
        row = np.repeat(np.arange(len(pool.offsets) - 1), np.diff(pool.offsets))
        ranks = self._rank_of[pool.values]
        order = np.lexsort((pool.values, ranks, row))
        row, ranks = row[order], ranks[order]
        new = np.flatnonzero((np.diff(row, prepend=-1) > 0) | (np.diff(ranks, prepend=-1) != 0))
        members = Ragged(np.append(new, len(order)), pool.values[order])
        bounds = np.searchsorted(row[new], np.arange(len(pool.offsets)))
        return bounds[:-1], bounds[1:], fixed(ranks[new], np.int32), members

    def _count_units(self, sequences: Ragged) -> Int:
        """[D] the number of units of each document."""
        if self._closers is None:
            return np.diff(sequences.offsets)
        closing = np.isin(sequences.values, self._closers)
        last = sequences.offsets[1:] - 1
        if not closing[last[np.diff(sequences.offsets) > 0]].all():
            raise ConfigError(f"a sequence does not end with its terminator {self._closers[0]}")
        before = np.append(0, closing.cumsum()).astype(np.int64)
        units: Int = before[sequences.offsets[1:]] - before[sequences.offsets[:-1]]
        return units


def _append(sequences: Ragged, token: int) -> Ragged:
    """The sequences with one more token each."""
    values = np.insert(sequences.values, sequences.offsets[1:], token).astype(np.int32)
    return Ragged(sequences.offsets + np.arange(len(sequences.offsets)), values)


def _sorted(sequences: Ragged) -> tuple[Int, Int]:
    """The documents ordered by their sequences, and where in that order a new sequence begins."""
    flat = sequences.values.astype(">u4").tobytes()  # big-endian bytes compare as their numbers do
    bounds = 4 * sequences.offsets
    rows = [flat[low:high] for low, high in pairwise(bounds)]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    new = [i for i, d in enumerate(order) if i == 0 or rows[d] != rows[order[i - 1]]]
    return np.array(order, dtype=np.int64), np.array(new, dtype=np.int64)
