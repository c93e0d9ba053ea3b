"""N-grams as what is generated: whatever stands somewhere in the corpus may be written.

A unit is one token. An n-gram belongs to all documents that contain it, so none is ever complete:
whoever searches observes the hypotheses and makes of them what it wants (see `decode.collect`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tsgen.constrain.constraint import Allowed, Bool, Cursor, Int, Int32, Ragged
from tsgen.constrain.keys import Keys
from tsgen.constrain.suffixes import Suffixes, ended, following
from tsgen.errors import ConfigError


@dataclass(frozen=True, slots=True)
class NgramFrontier:
    """Rows after equally many tokens: the suffixes that begin with them and go on."""

    depth: int
    low: Int  # [R]
    high: Int  # [R]


class SubstringConstraint:
    """Keeps every prefix one that occurs in the corpus, up to `longest` tokens."""

    def __init__(self, suffixes: Suffixes, longest: int = 10) -> None:
        self.suffixes, self._longest = suffixes, longest

    @property
    def alphabet(self) -> Int32:
        """The tokens that occur, ascending."""
        return self.suffixes.alphabet

    @property
    def longest(self) -> int:
        """The most tokens of an n-gram."""
        return self._longest

    def ends(self, units: int) -> bool:  # noqa: ARG002
        """Never: no n-gram is a document."""
        return False

    @property
    def spelled(self) -> Int32:
        """The text of the corpus."""
        return self.suffixes.text

    def start(
        self,
        batch: int,
        pool: Ragged | None = None,
        exact: bool = False,  # noqa: ARG002 - what is listed occurs
        skip: bool = False,  # noqa: ARG002 - every token makes an n-gram of its own
    ) -> NgramFrontier:
        """Empty prefixes of the whole corpus; it cannot be limited to some documents."""
        if pool is not None:
            raise ConfigError(
                "n-grams of some documents only: the suffixes are those of the whole corpus. "
                "Search without a pool or a filter, and leave out what is not wanted."
            )
        low = np.full(batch, len(self.suffixes.starts))  # separators sort first
        return NgramFrontier(0, low, np.full(batch, len(self.suffixes.text)))

    def cursor(self, frontier: NgramFrontier, rows: Int) -> Cursor:
        """Cursors after the rows' prefixes."""
        depth = np.full(len(rows), frontier.depth)
        return Cursor(rows, frontier.low[rows], frontier.high[rows], depth)

    def allowed(self, frontier: NgramFrontier, cursor: Cursor) -> Allowed:
        """The tokens that may come next; they are looked up once for all empty prefixes."""
        if frontier.depth == 0 and len(cursor):
            one, rows = self._first_tokens, np.zeros(len(cursor), dtype=np.int64)
            parts = one.starts[rows], one.ends[rows], one.tokens, one.closes, one.low, one.place
            return Allowed(*parts, one.depth, one.sure[rows])
        return self._allowed(cursor)

    @cached_property
    def _first_tokens(self) -> Allowed:
        return self._allowed(self.cursor(self.start(1), np.zeros(1, dtype=np.int64)))

    def _allowed(self, cursor: Cursor) -> Allowed:
        arrays = self.suffixes.text, self.suffixes.suffixes
        tokens, starts, ends, low, place = following(
            *arrays, cursor.low, cursor.high, cursor.depth, len(self.alphabet)
        )
        depth = np.full(len(tokens), 1 + cursor.depth.max(initial=0), dtype=np.int32)
        closes, sure = np.ones(len(tokens), dtype=np.bool_), np.ones(len(cursor), dtype=np.bool_)
        return Allowed(starts, ends, tokens, closes, low, place, depth, sure)

    def leads(self, frontier: NgramFrontier, cursor: Cursor) -> Bool:  # noqa: ARG002
        """Always: what is allowed here occurs."""
        return np.ones(len(cursor), dtype=np.bool_)

    def units(self, frontier: NgramFrontier, cursor: Cursor) -> Int:  # noqa: ARG002
        """[C] the last token."""
        places = self.suffixes.suffixes[cursor.low] + cursor.depth - 1
        tokens: Int = self.suffixes.text[places].astype(np.int64)
        return tokens

    def keys(self, frontier: NgramFrontier, cursor: Cursor) -> Keys:  # noqa: ARG002
        """[C, 2] the slice and the depth, which are different for different n-grams."""
        return np.stack((cursor.low, cursor.depth), axis=1).astype(np.uint64)

    def close(self, frontier: NgramFrontier, cursor: Cursor) -> NgramFrontier:
        """The n-grams with one more token, without the places where a piece ends after it."""
        arrays = self.suffixes.text, self.suffixes.suffixes
        low = ended(*arrays, cursor.low, cursor.high, cursor.depth)
        return NgramFrontier(frontier.depth + 1, low, cursor.high)

    def completed(self, frontier: NgramFrontier) -> Ragged:
        """None."""
        nothing = np.zeros(len(frontier.low) + 1, dtype=np.int64)
        return Ragged(nothing, np.zeros(0, dtype=np.int32))

    def valid(self, frontier: NgramFrontier) -> Int:
        """[R] the number of places at which the n-gram goes on; a document may have several."""
        return frontier.high - frontier.low

    def identifier(self, document: int) -> Sequence[int]:  # noqa: ARG002
        """Nothing: any of its n-grams identifies a document more or less."""
        return ()

    def decided(self, frontier: NgramFrontier, rows: Int) -> Int:
        """[C] the document of an n-gram that goes on in one place only, or -1."""
        places = self.suffixes.suffixes[np.minimum(frontier.low[rows], len(self.spelled) - 1)]
        only = self.valid(frontier)[rows] == 1
        return np.where(only, self.suffixes.owners(places), -1).astype(np.int64)
