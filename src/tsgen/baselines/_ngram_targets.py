"""What a model of n-grams learns to write for a query: pieces of the relevant document.

An n-gram is drawn anew each time a pair is met, the likelier the more of the query it has: p ∝
exp(overlap / τ), overlap being the share of the query's tokens, weighed by idf, that it contains.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tsgen.constrain.constraint import Bool, Int, Int32, Ragged
from tsgen.decode.select import Float
from tsgen.train.targets import padded


@dataclass(frozen=True, slots=True)
class View:
    """Pieces of every document that are of one kind: its title, its text, queries for it."""

    name: str
    pieces: Ragged  # [P] tokens, in document order
    owner: Int32  # [P] ascending
    whole: bool  # whether a target begins where a piece does, as titles and queries do

    def of(self, document: int) -> range:
        """The pieces of a document, by number."""
        return range(*np.searchsorted(self.owner, (document, document + 1)).tolist())


@dataclass(frozen=True, slots=True)
class NgramTargets:
    """For each pair an n-gram of some view of its document."""

    views: Sequence[View]
    view: Int  # [R] the view of each row
    document: Int  # [R]
    asked: Ragged  # [R] the query's tokens
    idf: Float  # [V] of each token
    longest: int
    temperature: float  # τ

    def lengths(self) -> Int:
        """[R] tokens of each target, at the most."""
        return np.full(len(self.view), self.longest)

    def batch(
        self,
        rows: Int,
        queries: Sequence[str],  # noqa: ARG002 - their tokens are known
        rng: np.random.Generator,
    ) -> tuple[Int, Bool]:
        """The tokens [B, T] of n-grams for some rows, and where they are not padding [B, T]."""
        return padded([self.draw(row, rng) for row in rows.tolist()])

    def draw(self, row: int, rng: np.random.Generator) -> Int32:
        """One n-gram for a row."""
        view, overlaps, windows = self.views[self.view[row]], [], []
        gain = np.zeros(len(self.idf))
        asked = np.unique(self.asked.row(row))
        gain[asked] = self.idf[asked] / max(self.idf[asked].sum(), 1e-9)
        for piece in view.of(int(self.document[row])):
            tokens = view.pieces.row(piece)
            starts = 1 if view.whole else max(len(tokens) - self.longest, 0) + 1
            before = np.append(0.0, np.cumsum(gain[tokens]))
            first = np.arange(starts)
            overlaps.append(before[np.minimum(first + self.longest, len(tokens))] - before[first])
            windows += [(piece, start) for start in range(starts)]
        weight = np.exp((np.concatenate(overlaps) - max(map(np.max, overlaps))) / self.temperature)
        piece, start = windows[int(rng.choice(len(weight), p=weight / weight.sum()))]
        drawn: Int32 = view.pieces.row(piece)[start : start + self.longest]
        return drawn


def make_targets(
    views: Sequence[View],
    asked: Ragged,
    documents: Int,
    idf: Float,
    longest: int,
    temperature: float,
) -> tuple[Int, NgramTargets]:
    """Rows for every pair and every view that its document has something of: the pair of each, and
    what is to be written for it."""
    has = [np.bincount(view.owner, minlength=int(documents.max(initial=0)) + 1) for view in views]
    rows = [np.flatnonzero(counts[documents] > 0) for counts in has]
    pair = np.concatenate(rows)
    view = np.repeat(np.arange(len(views)), [len(each) for each in rows])
    parts = asked.take(pair), idf, longest, temperature
    return pair, NgramTargets(views, view, documents[pair], *parts)
