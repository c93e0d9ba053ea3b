"""The constraint that generates n-grams: any run of tokens of the corpus is valid.

A unit is one token. An n-gram belongs to all documents that contain it, so no document is ever
complete. A system that searches for n-grams observes the hypotheses and scores documents by them
(see `tsgen.baselines.seal`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from tsgen.arrays import load_array, save_array
from tsgen.constrain.constraint import Allowed, Bool, Cursor, Int, Int32, Ragged
from tsgen.constrain.kernels import Keys, fixed, kernel
from tsgen.errors import ConfigError

# All n-grams of a corpus as a suffix array: an n-gram is a slice of the sorted suffixes.
#
# A document is one or more *pieces* of tokens; each is closed by a separator, which sorts before
# all tokens and is part of no n-gram, so none runs from one piece into the next. (An FM-index does
# the same in less memory and more time: it reads every token through rank queries.)

SEPARATOR = -1
ARRAYS = ("text", "suffixes", "starts", "owner")


@dataclass(frozen=True)
class Suffixes:
    """The sorted suffixes of all pieces."""

    text: Int32  # [N] the pieces, a separator after each
    suffixes: Int32  # [N] where the suffixes begin, in their order
    starts: Int  # [P] where the pieces begin
    owner: Int32  # [P] the document of each piece

    @classmethod
    def build(cls, pieces: Ragged, owner: Sequence[int] | Int32) -> Self:
        """Sort the suffixes of pieces of tokens ≥ 0, each of some document."""
        count = len(pieces.offsets) - 1
        text = np.insert(pieces.values, pieces.offsets[1:], SEPARATOR).astype(np.int32)
        starts = pieces.offsets[:-1] + np.arange(count)
        # The sorter takes no negative numbers.
        suffixes = _sorter()(text + 1) if count else text
        return cls(
            fixed(text, np.int32),
            fixed(suffixes, np.int32),
            fixed(starts, np.int64),
            fixed(owner, np.int32),
        )

    def __len__(self) -> int:
        """The number of tokens, without separators."""
        return len(self.text) - len(self.starts)

    @cached_property
    def alphabet(self) -> Int32:
        """The tokens that occur, ascending."""
        return np.unique(self.text[self.text != SEPARATOR])

    def find(self, ngrams: Ragged) -> tuple[Int, Int]:
        """low [n] and high [n]: the slice of the suffixes that begin with each n-gram."""
        values = fixed(ngrams.values, np.int32)
        return _find(self.text, self.suffixes, fixed(ngrams.offsets, np.int64), values)

    def count(self, ngram: Sequence[int]) -> int:
        """How often an n-gram occurs."""
        low, high = self.find(_single(ngram))
        return int(high[0] - low[0])

    def following(self, ngram: Sequence[int]) -> Int32:
        """The tokens that may follow an n-gram, ascending."""
        low, high = self.find(_single(ngram))
        depth = np.array([len(ngram)])
        tokens, *_ = following(self.text, self.suffixes, low, high, depth, len(self.alphabet))
        return tokens

    def documents(self, ngram: Sequence[int]) -> Int32:
        """The documents that contain an n-gram, ascending."""
        low, high = self.find(_single(ngram))
        return np.unique(self.owners(self.suffixes[low[0] : high[0]]))

    def owners(self, places: Int | Int32) -> Int32:
        """The documents that these places of the text belong to."""
        return self.owner[np.searchsorted(self.starts, places, side="right") - 1]

    @property
    def nbytes(self) -> int:
        """The size of the arrays in bytes."""
        return sum(getattr(self, name).nbytes for name in ARRAYS)

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder, which is made if it is not there."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ARRAYS:
            save_array(folder, name, getattr(self, name))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Map what `save` wrote into memory."""
        text, suffixes, starts, owner = (load_array(folder, name) for name in ARRAYS)
        return cls(
            fixed(text, np.int32),
            fixed(suffixes, np.int32),
            fixed(starts, np.int64),
            fixed(owner, np.int32),
        )


def _single(ngram: Sequence[int]) -> Ragged:
    values = np.array(ngram, dtype=np.int32)
    return Ragged(np.array([0, len(values)], dtype=np.int64), values)


def _sorter() -> Any:
    try:
        from pydivsufsort import divsufsort
    except ImportError:
        raise ConfigError(
            "n-grams need pydivsufsort, which is not installed; expected the extra `baselines`: "
            "pip install 'tsgen-ir[baselines]'"
        ) from None
    return divsufsort


@kernel
def following(
    text: Int32, suffixes: Int32, low: Int, high: Int, depth: Int, tokens: int
) -> tuple[Int32, Int, Int, Int32, Int]:
    """The distinct tokens at place `depth` of the suffixes low:high of each row, ascending.

    Returns the tokens of all rows, where each row's begin and end, where the suffixes with each
    begin, and a place of the text where each stands. `tokens` is how many there are at the most.
    """
    rows, room = len(low), 0
    for r in range(rows):
        room += min(high[r] - low[r], tokens)
    starts, ends = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    found, first = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    places = np.empty(room, dtype=np.int64)
    end = 0
    for r in range(rows):
        starts[r] = end
        i = beyond(text, suffixes, low[r], high[r], depth[r], SEPARATOR)
        while i < high[r]:
            place = suffixes[i] + depth[r]
            found[end], first[end], places[end] = text[place], i, place
            end += 1
            i = beyond(text, suffixes, i, high[r], depth[r], text[place])
        ends[r] = end
    return found[:end], starts, ends, first[:end], places[:end]


@kernel
def beyond(text: Int32, suffixes: Int32, low: int, high: int, depth: int, token: int) -> int:
    """The first of the suffixes low:high with a larger token at place `depth`, or `high`.

    Looks at low, low + 1, low + 3, low + 7, …: most tokens follow a given n-gram a few times only.
    """
    step, last = 1, low
    while low < high and text[suffixes[low] + depth] <= token:
        last = low + 1
        low += step
        step *= 2
    low, high = last, min(low, high)
    while low < high:
        middle = (low + high) >> 1
        if text[suffixes[middle] + depth] <= token:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def ended(text: Int32, suffixes: Int32, low: Int, high: Int, depth: Int) -> Int:
    """[R] the first of the suffixes low:high of each row that goes on after `depth` tokens; the
    suffixes of pieces that end there sort before it."""
    after = np.empty(len(low), dtype=np.int64)
    for r in range(len(low)):
        after[r] = beyond(text, suffixes, low[r], high[r], depth[r], SEPARATOR)
    return after


@kernel
def _find(text: Int32, suffixes: Int32, offsets: Int, tokens: Int32) -> tuple[Int, Int]:
    """The slices of the n-grams tokens[offsets[n]:offsets[n + 1]]."""
    size = len(offsets) - 1
    low, high = np.zeros(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for n in range(size):
        start, stop = 0, len(suffixes)
        for depth in range(offsets[n + 1] - offsets[n]):
            token = tokens[offsets[n] + depth]
            start = beyond(text, suffixes, start, stop, depth, token - 1)
            stop = beyond(text, suffixes, start, stop, depth, token)
        low[n], high[n] = start, stop
    return low, high


@dataclass(frozen=True, slots=True)
class NgramFrontier:
    """Rows after equally many tokens: the suffixes that begin with them and go on."""

    depth: int
    low: Int  # [R]
    high: Int  # [R]


class SubstringConstraint:
    """Allows every n-gram that occurs in the corpus, of up to `longest` tokens."""

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
        """Always false, since no n-gram is a document's identifier."""
        return False

    @property
    def spelled(self) -> Int32:
        """The text of the corpus."""
        return self.suffixes.text

    def start(
        self,
        batch: int,
        pool: Ragged | None = None,
        exact: bool = False,  # noqa: ARG002 - all that is listed is valid
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
        """[C] always true, since all allowed tokens occur in the corpus."""
        return np.ones(len(cursor), dtype=np.bool_)

    def units(self, frontier: NgramFrontier, cursor: Cursor) -> Int:  # noqa: ARG002
        """[C] the last token of each n-gram."""
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
        """No documents for any row, since no n-gram is complete."""
        nothing = np.zeros(len(frontier.low) + 1, dtype=np.int64)
        return Ragged(nothing, np.zeros(0, dtype=np.int32))

    def valid(self, frontier: NgramFrontier) -> Int:
        """[R] the number of places at which the n-gram goes on; a document may have several."""
        return frontier.high - frontier.low

    def identifier(self, document: int) -> Sequence[int]:  # noqa: ARG002
        """Empty, since a document has no single identifier but all its n-grams."""
        return ()

    def decided(self, frontier: NgramFrontier, rows: Int) -> Int:
        """[C] the document of an n-gram that goes on in one place only, or -1."""
        places = self.suffixes.suffixes[np.minimum(frontier.low[rows], len(self.spelled) - 1)]
        only = self.valid(frontier)[rows] == 1
        return np.where(only, self.suffixes.owners(places), -1).astype(np.int64)
