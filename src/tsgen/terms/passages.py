"""Passages: how a document that is longer than the encoder's window is read into vectors.

The encoder reads the beginning of every document D, as far as its window reaches, into v_1(D). Of
a document that goes on after that, what comes after its first `WORDS` words, which a window of 256
tokens holds in most texts, is read passage by passage, each with the title before it, into v_2(D) …
v_p(D). A query compares with the vector that is nearest to it,

    v(D) · v(Q) = max_i v_i(D) · v(Q),

and where one vector stands for the whole document it is the mean of all, scaled to length 1.

Passages end at blank lines and before Markdown headings, where a text has any, and are about
`WORDS` words long; a longer stretch without such a break is cut into windows of `WORDS` words that
overlap by at least `OVERLAP`. A document has at most `MOST` vectors, the beginning's among them:
what comes after that many passages, some 7,000 words, is found by its terms alone.

Passages that repeated the beginning would cost as much again as it does: 10,000 Wikipedia pages,
half of which are longer than the window, take 1.2 times the tokens of their beginnings, and would
take 1.7 times.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import offsets_of
from tsgen.records import Document

WORDS, OVERLAP, MOST = 150, 30, 64
LEAST = 50  # words before a heading may begin a new passage
BEGINNING = 200  # about as many words as fit a window of 256 tokens: what is shown of the beginning

_BREAK = re.compile(r"\n[ \t]*\n|\n(?=#{1,6} )")
_HEADING = re.compile(r"\s*(?:#{1,6} |[^\n]{1,80}[^\n.:;,!?]\s*\Z)")  # marked, or a line by itself
# Words, and marks such as those between the words of `decode.beam`, which an encoder reads, too;
# of Chinese, Japanese and Korean each character.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\ud7af]+|[^\w\s]|\w")


class Span(NamedTuple):
    """A stretch of a document's text, as character positions."""

    start: int
    end: int


def passages(text: str) -> list[Span]:
    """The beginning of a text that is longer than the window, and then its passages."""
    read = islice(_WORD.finditer(text), MOST * WORDS)  # no more fit the passages
    words = [Span(*found.span()) for found in read] or [Span(0, 0)]
    found = _passages(text[: words[-1].end], words)
    return [Span(0, words[:BEGINNING][-1].end), *islice(found, MOST - 1)]


def passage_texts(document: Document) -> list[str]:
    """The passages of a long document after its beginning, as the encoder reads them."""
    _, *spans = passages(document.text)
    parts = [document.text[start:end] for start, end in spans]
    return [f"{document.title} {part}" if document.title else part for part in parts]


def _passages(text: str, words: Sequence[Span]) -> Iterator[Span]:
    """Paragraphs put together until a passage is full, after the first `WORDS` words."""
    first = last = min(WORDS, len(words))  # the words of the passage so far
    for after, heading in _paragraphs(text, words):
        if after <= first:
            continue
        long = last - first >= LEAST
        if long and (heading or after - first > WORDS):
            yield from _windows(words[first:last])
            first = last
        last = after
    yield from _windows(words[first:last])


def _paragraphs(text: str, words: Sequence[Span]) -> Iterator[tuple[int, bool]]:
    """How many words come up to each paragraph's end, and whether the paragraph is a heading."""
    starts = np.array([word.start for word in words])
    edges = [0, *(found.end() for found in _BREAK.finditer(text)), len(text)]
    counts = np.searchsorted(starts, edges[1:]).tolist()
    for start, end, count in zip(edges, edges[1:], counts, strict=False):
        yield count, _HEADING.match(text[start:end].rstrip()) is not None


def _windows(words: Sequence[Span]) -> Iterator[Span]:
    """The whole stretch if it is short; else windows of `WORDS` words, evenly spread over it."""
    rest = max(len(words) - WORDS, 0)
    count = -(-rest // (WORDS - OVERLAP)) + 1
    for start in np.linspace(0, rest, count).astype(int).tolist():
        window = words[start : start + WORDS]
        if window:
            yield Span(window[0].start, window[-1].end)


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """The vectors of all documents: those of D are `values[offsets[D]:offsets[D + 1]]`, one of
    them for a document that fits the window, never none."""

    offsets: NDArray[np.integer[Any]]  # [D + 1]
    values: NDArray[np.floating[Any]]  # [P, d]

    @classmethod
    def joined(cls, beginnings: NDArray[Any], counts: NDArray[Any], more: NDArray[Any]) -> Self:
        """The vectors of beginnings and passages together.

        Args:
            beginnings: [D, d] v_1(D) of every document.
            counts: [D] how many more each document has.
            more: [Σ counts, d] these, document by document.
        """
        offsets = offsets_of(1 + counts)
        later = np.ones(offsets[-1], np.bool_)
        later[offsets[:-1]] = False
        values = np.empty((len(later), beginnings.shape[1]), beginnings.dtype)
        values[~later], values[later] = beginnings, more
        return cls(offsets, values)

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.offsets) - 1

    def row(self, document: int) -> NDArray[np.floating[Any]]:
        """The vectors [p, d] of a document."""
        return self.values[self.offsets[document] : self.offsets[document + 1]]

    def take(self, documents: NDArray[np.integer[Any]]) -> Self:
        """Those of some documents (ascending numbers)."""
        counts = np.diff(self.offsets)
        taken = np.zeros(len(self), np.bool_)
        taken[documents] = True
        return type(self)(offsets_of(counts[documents]), self.values[np.repeat(taken, counts)])

    def followed_by(self, rows: Sequence[NDArray[np.floating[Any]]]) -> Self:
        """These, and then those [p, d] of more documents."""
        counts = np.array([len(row) for row in rows], np.int64)
        offsets = offsets_of(np.concatenate([np.diff(self.offsets), counts]))
        return type(self)(offsets, np.concatenate([self.values, *rows]))

    def astype(self, kind: type[np.floating[Any]]) -> Self:
        """The same in another precision."""
        return type(self)(self.offsets, self.values.astype(kind))

    def means(self) -> NDArray[np.float32]:
        """One vector [D, d] for each document: its own, or the mean of several with length 1."""
        values = self.values.astype(np.float32)
        counts = np.diff(self.offsets)
        if np.all(counts == 1):
            return values
        sums: NDArray[np.float32] = np.add.reduceat(values, self.offsets[:-1], axis=0)
        several = counts > 1
        sums[several] /= np.linalg.norm(sums[several], axis=1, keepdims=True)
        return sums

    def largest(self, products: NDArray[np.float32]) -> NDArray[np.float32]:
        """The largest value [Q, D] of each document in `products` [Q, P], one for each vector."""
        if products.shape[1] == len(self):
            return products
        largest: NDArray[np.float32] = np.maximum.reduceat(products, self.offsets[:-1], axis=1)
        return largest

    def best_passage(self, products: NDArray[np.float32], document: int) -> int | None:
        """Which vector of a document is largest in `products` [P]; None if there is but one."""
        own = products[self.offsets[document] : self.offsets[document + 1]]
        return int(np.argmax(own)) if len(own) > 1 else None
