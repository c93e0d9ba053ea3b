"""Passages: how a document that is longer than the encoder's window is read into vectors.

The encoder reads the beginning of every document D, as far as its window reaches, into v_1(D). Of
a document that goes on after that, what comes after its first `WORDS` words, which a window of 256
tokens holds in most texts, is read passage by passage, each with the title before it, into v_2(D) …
v_p(D). The same readings give a vector u_j(D) for each sentence (see `terms.sentences`). A query is
compared with the passage and with the sentence that are nearest to it,

    r(Q, D) = (1 − σ) · max_i v_i(D) · v(Q) + σ · max_j u_j(D) · v(Q),   σ = `sentence_share`,

and where one vector stands for the whole document it is the mean of the v_i, scaled to length 1.
All are kept in 8 bits: a number x as the integer nearest to 256 x, which moves the product of two
vectors by about .001.

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
from tsgen.terms.sentences import TextVectors

Int8 = NDArray[np.int8]

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


# The vectors of documents, as they are kept.

UNIT = 256  # what 1 is kept as


def in_8_bits(vectors: NDArray[np.floating[Any]]) -> Int8:
    """Vectors of length 1 as integers, in units of 1/256; a number beyond 127/256 is cut."""
    return np.clip(np.rint(vectors.astype(np.float32) * UNIT), -127, 127).astype(np.int8)


@dataclass(frozen=True, slots=True)
class DocumentVectors:
    """The vectors of all documents, in 8 bits: those of D are `values[offsets[D]:offsets[D + 1]]`,
    first of its passages, at least one, then of its sentences."""

    offsets: NDArray[np.integer[Any]]  # [D + 1]
    passages: NDArray[np.int32]  # [D] how many of a document's vectors are of passages
    values: Int8  # [R, d]

    @classmethod
    def joined(cls, beginnings: TextVectors, counts: NDArray[Any], more: TextVectors) -> Self:
        """The vectors of beginnings and passages together.

        Args:
            beginnings: of the beginnings of D documents.
            counts: [D] how many more passages each document has.
            more: of these passages, document by document.
        """
        owner = np.repeat(np.arange(len(counts)), counts)
        every = np.arange(len(counts))
        parts = [
            (every, 0, beginnings.whole),
            (owner, 1, more.whole),
            (np.repeat(every, beginnings.counts), 2, beginnings.sentences),
            (np.repeat(owner, more.counts), 3, more.sentences),
        ]
        owners = np.concatenate([own for own, _, _ in parts])
        kinds = np.repeat([kind for _, kind, _ in parts], [len(own) for own, _, _ in parts])
        values = np.concatenate([in_8_bits(own) for _, _, own in parts])
        offsets = offsets_of(np.bincount(owners, minlength=len(counts)))
        return cls(offsets, (1 + counts).astype(np.int32), values[np.lexsort((kinds, owners))])

    def pack(self, document: int) -> bytes:
        """The vectors of one document as bytes: how many are of passages, and then all of them."""
        count = int(self.passages[document]).to_bytes(4, "little")
        return count + self.row(document).tobytes()

    def unpack(self, packed: bytes) -> Self:
        """The vectors of one document that `pack` wrote, as long as these are."""
        values = np.frombuffer(packed, np.int8, offset=4).reshape(-1, self.values.shape[1])
        passages = np.frombuffer(packed, "<i4", 1).astype(np.int32)
        return type(self)(np.array([0, len(values)]), passages, values)

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.offsets) - 1

    def row(self, document: int) -> Int8:
        """The vectors [r, d] of a document."""
        return self.values[self.offsets[document] : self.offsets[document + 1]]

    def take(self, documents: NDArray[np.integer[Any]]) -> Self:
        """Those of some documents (ascending numbers)."""
        counts = np.diff(self.offsets)
        taken = np.zeros(len(self), np.bool_)
        taken[documents] = True
        values = self.values[np.repeat(taken, counts)]
        return type(self)(offsets_of(counts[documents]), self.passages[documents], values)

    def followed_by(self, others: Sequence[Self]) -> Self:
        """These, and then those of more documents."""
        every = [self, *others]
        counts = np.concatenate([np.diff(one.offsets) for one in every])
        passages = np.concatenate([one.passages for one in every])
        return type(self)(offsets_of(counts), passages, np.concatenate([o.values for o in every]))

    def as_floats(self) -> NDArray[np.float32]:
        """All vectors [R, d] as numbers."""
        return (self.values.astype(np.float32) / UNIT).astype(np.float32)

    def means(self) -> NDArray[np.float32]:
        """One vector [D, d] for each document: its passage's, or the mean of several with length
        1."""
        chosen = self.of_passages()
        sums = np.zeros((len(self), self.values.shape[1]), np.float32)
        np.add.at(sums, self.owners()[chosen], self.values[chosen].astype(np.float32))
        lengths = np.linalg.norm(sums, axis=1, keepdims=True).astype(np.float32)
        means: NDArray[np.float32] = sums / lengths
        return means

    def owners(self) -> NDArray[np.int64]:
        """[R] the document of each vector."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def of_passages(self) -> NDArray[np.bool_]:
        """[R] whether each vector is of a passage; the others are of sentences."""
        place = np.arange(len(self.values)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        found: NDArray[np.bool_] = place < np.repeat(self.passages, np.diff(self.offsets))
        return found

    def similarity(self, products: NDArray[np.float32], share: float) -> NDArray[np.float32]:
        """r(Q, D) [Q, D] of every document, from v · v(Q) [Q, R] of all its vectors.

        Args:
            products: [Q, R].
            share: σ, how much the nearest sentence counts. For a document without sentences the
                nearest passage stands for it.
        """
        chosen = self.of_passages()
        nearest = [np.where(kind, products, -np.inf) for kind in (chosen, ~chosen)]
        passage, sentence = (np.maximum.reduceat(x, self.offsets[:-1], axis=1) for x in nearest)
        sentence = np.where(np.isinf(sentence), passage, sentence)
        return ((1 - share) * passage + share * sentence).astype(np.float32)

    def best_passage(self, products: NDArray[np.floating[Any]], document: int) -> int | None:
        """Which passage of a document is largest in `products` [R]; None if it has but one."""
        first = self.offsets[document]
        own = products[first : first + self.passages[document]]
        return int(np.argmax(own)) if len(own) > 1 else None
