"""What a search found, and how it got there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tsgen.constrain.constraint import Int, Ragged
from tsgen.decode.candidates import rank_within
from tsgen.decode.select import Float
from tsgen.records import Hit, Reason


@dataclass(frozen=True, slots=True)
class Found:
    """A document by position, its score, and the units in the order they were generated, each with
    its log p and with |Y| after it. The log p add up to the score unless paths were summed."""

    document: int
    score: float
    units: tuple[int, ...]
    log_probs: tuple[float, ...]
    valid_documents: tuple[int, ...]


class Texts(Protocol):
    """Strings by number: a list, or a table on disk."""

    def __getitem__(self, number: int, /) -> str:
        """One of them."""
        ...


def as_hits(found: Sequence[Found], ids: Texts, units: Texts) -> list[Hit]:
    """Hits with ids and texts; `units` are the texts of the units by number (negative: no text)."""
    return [Hit(ids[one.document], one.score, _reason(one, units)) for one in found]


def _reason(found: Found, units: Texts) -> Reason:
    path = zip(found.units, found.log_probs, found.valid_documents, strict=True)
    spoken = [(units[unit], log_prob, valid) for unit, log_prob, valid in path if unit >= 0]
    return Reason(*zip(*spoken, strict=True)) if spoken else Reason((), (), ())


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of the search chose."""

    parent: Int  # [R] the row of the step before
    unit: Int  # [R]
    log_prob: Float  # [R]
    valid: Int  # [R] |Y|


class Trail:
    """All steps of a search, to be walked back from a hit."""

    def __init__(self) -> None:
        self._steps: list[Step] = []

    def add(self, step: Step) -> None:
        """Remember the newest step."""
        self._steps.append(step)

    def found(self, document: int, score: float, steps: int, row: int) -> Found:
        """The document that was complete at a row after so many steps."""
        path: list[tuple[int, float, int]] = []
        for step in reversed(self._steps[:steps]):
            path.append((int(step.unit[row]), float(step.log_prob[row]), int(step.valid[row])))
            row = step.parent[row]
        units, log_probs, valid = zip(*reversed(path), strict=True)
        return Found(document, score, units, log_probs, valid)


class Hits:
    """The best k documents of each query so far; ties by document order."""

    def __init__(self, queries: int, k: int) -> None:
        self._queries, self._k = queries, k
        self._query = self._document = self._steps = self._row = np.zeros(0, dtype=np.int64)
        self._score = np.zeros(0)

    def __len__(self) -> int:
        """The number of queries."""
        return self._queries

    def add(self, query: Int, score: Float, rows: Int, completed: Ragged, steps: int) -> None:
        """Record the documents completed at some rows of the newest step."""
        if not len(completed.values):
            return
        times = np.diff(completed.offsets)
        self._query = np.concatenate((self._query, np.repeat(query, times)))
        self._score = np.concatenate((self._score, np.repeat(score, times)))
        self._row = np.concatenate((self._row, np.repeat(rows, times)))
        self._document = np.concatenate((self._document, completed.values))
        self._steps = np.concatenate((self._steps, np.full(len(completed.values), steps)))
        self._best_per_document()
        self._keep(np.lexsort((self._document, -self._score, self._query)))
        self._keep(rank_within(self._query) < self._k)

    def bar(self) -> Float:
        """[Q] the k-th best score, −∞ where there are fewer than k."""
        bars = np.full(self._queries, -np.inf)
        last = rank_within(self._query) == self._k - 1
        bars[self._query[last]] = self._score[last]
        return bars

    def found(self, trail: Trail) -> list[list[Found]]:
        """For each query what was found, best first."""
        answers: list[list[Found]] = [[] for _ in range(self._queries)]
        for i, query in enumerate(self._query):
            steps, row = int(self._steps[i]), int(self._row[i])
            hit = trail.found(int(self._document[i]), float(self._score[i]), steps, row)
            answers[query].append(hit)
        return answers

    def _best_per_document(self) -> None:
        """Of several orders that led to a document keep the best."""
        self._keep(np.lexsort((-self._score, self._document, self._query)))
        same = np.diff(self._query, prepend=-1) == 0
        same &= np.diff(self._document, prepend=-1) == 0
        self._keep(~same)

    def _keep(self, picks: Int | np.ndarray) -> None:
        self._query, self._document = self._query[picks], self._document[picks]
        self._score, self._steps = self._score[picks], self._steps[picks]
        self._row = self._row[picks]
