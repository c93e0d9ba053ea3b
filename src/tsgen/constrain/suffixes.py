"""All n-grams of a corpus as a suffix array: an n-gram is a slice of the sorted suffixes.

A document is one or more *pieces* of tokens; each is closed by a separator, which sorts before all
tokens and is part of no n-gram, so none runs from one piece into the next. (An FM-index does the
same in less memory and more time: it reads every token through rank queries.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from tsgen.constrain.constraint import Int, Int32, Ragged
from tsgen.constrain.kernel import fixed, kernel
from tsgen.errors import ConfigError
from tsgen.terms.arrays import load_array, save_array

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
        """[n] and [n]: each n-gram's slice low:high of the suffixes, as long as it is frequent."""
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
        """The documents in which these places of the text are."""
        return self.owner[np.searchsorted(self.starts, places, side="right") - 1]

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
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
            "pip install 'tsgen[baselines]'"
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
    """[R] where in the suffixes low:high of each row those begin that go on after `depth` tokens:
    a piece that ends there sorts before them."""
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
