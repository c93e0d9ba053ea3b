"""The constraint of a search: which tokens may come next. One protocol for all identifiers.

`PostingsConstraint` is the constraint for term sets, `SequenceTrie` for sequences, and
`SubstringConstraint` for the n-grams of a corpus.

A *unit* is what hypotheses compete in: a term of a set, or a token of a sequence. A unit is
spelled by one or more tokens. No spelling is the beginning of another one (a term ends with its
terminator), so the last token of a spelling closes the unit.

A *frontier* holds R rows, hypotheses that stand between two units; it is opaque to the search. A
*cursor* is a row plus the tokens that have been spelled of its next unit. A row's possible units
are a list sorted by spelling, so everything that continues a cursor is a slice of that list, and no
trie of terms is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Int32 = NDArray[np.int32]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths: row r is `values[offsets[r]:offsets[r + 1]]` (CSR)."""

    offsets: Int
    values: Int32

    def row(self, r: int) -> Int32:
        """The values of row r."""
        return self.values[self.offsets[r] : self.offsets[r + 1]]

    def take(self, picks: Int | Int32) -> "Ragged":
        """Some of the rows, in the order of `picks`."""
        starts = self.offsets[picks]
        return spans(self.values, starts, self.offsets[picks + 1] - starts)


def spans(values: Int32, starts: Int, lengths: Int) -> Ragged:
    """The rows values[starts[r] : starts[r] + lengths[r]]."""
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    shift = np.repeat(starts - offsets[:-1], lengths)
    return Ragged(offsets, values[np.arange(offsets[-1]) + shift])


@dataclass(frozen=True, slots=True)
class Cursor:
    """Partial spellings: rows of a frontier, each `depth` tokens into its next unit."""

    row: Int  # [C] the frontier's row
    low: Int  # [C] the units that begin with the tokens so far
    high: Int  # [C] are the slice low:high of the row's list
    depth: Int  # [C] tokens spelled so far

    def __len__(self) -> int:
        return len(self.row)

    def take(self, picks: Int | Bool) -> "Cursor":
        """Some of the cursors, in the order of `picks`."""
        return Cursor(self.row[picks], self.low[picks], self.high[picks], self.depth[picks])

    @staticmethod
    def join(parts: Sequence["Cursor"]) -> "Cursor":
        """Cursors of one frontier, one after the other."""
        return Cursor(
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
            np.concatenate([part.depth for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Allowed:
    """The tokens that may follow each cursor: entries `starts[c]:ends[c]`, which cursors may share.

    Where `sure` is false the entries are a superset of what is valid, because listing every valid
    term of a huge set of documents costs more than asking `leads` about the few best ones.
    """

    starts: Int  # [C]
    ends: Int  # [C]
    tokens: Int32  # [E] ascending within a cursor
    closes: Bool  # [E] whether the entry completes a unit
    low: Int32  # [E] where the slice of the units it leads to begins
    place: Int  # [E] of the token in `Constraint.spelled`; what an entry skips comes after it
    depth: Int32  # [E] tokens spelled after it
    sure: Bool  # [C]

    def follow(self, cursor: Cursor, picks: Int, entries: Int) -> Cursor:
        """The cursors after cursor `picks[i]` took entry `entries[i]`."""
        last = entries + 1 >= self.ends[picks]
        after = self.low[np.where(last, entries, entries + 1)]
        high = np.where(last, cursor.high[picks], after).astype(np.int64)
        low = self.low[entries].astype(np.int64)
        return Cursor(cursor.row[picks], low, high, self.depth[entries].astype(np.int64))


class Constraint(Protocol):
    """The identifiers of a collection, as a search needs them to keep every prefix valid."""

    @property
    def alphabet(self) -> Int32:
        """The tokens that occur in identifiers, ascending."""
        ...

    @property
    def longest(self) -> int:
        """The number of units of the longest identifier."""
        ...

    def ends(self, units: int) -> bool:
        """Whether some identifier has exactly that many units."""
        ...

    @property
    def spelled(self) -> Int32:
        """The tokens of all units, one spelling after the other."""
        ...

    def start(
        self, batch: int, pool: Ragged | None = None, exact: bool = False, skip: bool = False
    ) -> Any:
        """The frontier of empty prefixes.

        Args:
            batch: R, the number of rows.
            pool: documents (ascending) that each row is limited to; None: all.
            exact: make every later `Allowed` sure.
            skip: let an entry go on over tokens that have no alternative, where the constraint can.
        """
        ...

    def cursor(self, frontier: Any, rows: Int) -> Cursor:
        """Cursors at the beginning of the rows' next unit."""
        ...

    def allowed(self, frontier: Any, cursor: Cursor) -> Allowed:
        """The tokens that may come next."""
        ...

    def leads(self, frontier: Any, cursor: Cursor) -> Bool:
        """[C] whether some document continues each cursor; needed where `Allowed` is not sure."""
        ...

    def units(self, frontier: Any, cursor: Cursor) -> Int:
        """[C] the number of the unit that each cursor has closed, to show in a hit."""
        ...

    def keys(self, frontier: Any, cursor: Cursor) -> NDArray[np.uint64]:
        """[C, 2] a hash of the units of each cursor, the one just closed among them; equal sets
        have the same hash whatever their order."""
        ...

    def close(self, frontier: Any, cursor: Cursor) -> Any:
        """The frontier with one row for each cursor, whose unit has just been closed."""
        ...

    def completed(self, frontier: Any) -> Ragged:
        """For each row the documents (ascending) whose identifier is exactly what was generated."""
        ...

    def valid(self, frontier: Any) -> Int:
        """[R] the number of documents that a row can still lead to, |Y|."""
        ...

    def identifier(self, document: int) -> Sequence[int]:
        """The numbers of all units of a document's identifier, as `units` gives them."""
        ...

    def decided(self, frontier: Any, rows: Int) -> Int:
        """[C] the only document that each of these rows can still lead to, or -1."""
        ...
