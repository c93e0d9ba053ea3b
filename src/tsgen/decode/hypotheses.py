"""Hypotheses of a search, the documents found, and the path that led to each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tsgen.constrain.constraint import Bool, Cursor, Int, Ragged
from tsgen.records import Hit, Reason

if TYPE_CHECKING:
    import torch

    from tsgen.decode.topk import Float

# Candidates: hypotheses whose next unit is being spelled.


@dataclass(frozen=True, slots=True)
class Candidates:
    """C hypotheses with a part of their next unit, sorted by query.

    The cursor may be some tokens ahead of the model: `unread` tokens are appended to `node` if the
    candidate is chosen.
    """

    query: Int  # [C]
    origin: Int  # [C] the live hypothesis that it continues
    cursor: Cursor
    place: Int  # [C] where the unread tokens begin in `Constraint.spelled`
    unread: Int  # [C] the number of tokens that the model has not read
    score: Float  # [C]
    log_prob: Float  # [C] of the unit so far
    node: torch.Tensor  # [C]

    def __len__(self) -> int:
        return len(self.query)

    @staticmethod
    def unspelled(query: Int, cursor: Cursor, score: Float, node: torch.Tensor) -> Candidates:
        """Hypotheses that have not begun to spell their next unit."""
        nothing, origin = np.zeros(len(query), dtype=np.int64), np.arange(len(query))
        log_prob = np.zeros(len(query))
        return Candidates(query, origin, cursor, nothing, nothing, score, log_prob, node)

    def take(self, picks: Int | Bool) -> Candidates:
        """Some of the candidates, in the order of `picks`."""
        import torch

        return Candidates(
            self.query[picks],
            self.origin[picks],
            self.cursor.take(picks),
            self.place[picks],
            self.unread[picks],
            self.score[picks],
            self.log_prob[picks],
            self.node[torch.from_numpy(picks).to(self.node.device)],
        )

    def scored(self, score: Float) -> Candidates:
        """The same candidates with other scores."""
        return replace(self, score=score)

    @staticmethod
    def join(parts: Sequence[Candidates]) -> Candidates:
        """The candidates of all parts by query, best first; ties in the order of the parts."""
        import torch

        joined = Candidates(
            np.concatenate([part.query for part in parts]),
            np.concatenate([part.origin for part in parts]),
            Cursor.join([part.cursor for part in parts]),
            np.concatenate([part.place for part in parts]),
            np.concatenate([part.unread for part in parts]),
            np.concatenate([part.score for part in parts]),
            np.concatenate([part.log_prob for part in parts]),
            torch.cat([part.node for part in parts]),
        )
        return joined.take(np.lexsort((-joined.score, joined.query)))


def rank_within(query: Int) -> Int:
    """[C] how many rows of the same query come before each; `query` is ascending."""
    return np.arange(len(query)) - np.searchsorted(query, query)


@dataclass(frozen=True, slots=True)
class Found:
    """A document that a search found, and the units that were generated for it, in their order.

    The log p add up to log p(D | Q) unless the probabilities of several paths were added.
    """

    document: int  # its number
    score: float
    units: tuple[int, ...]
    log_probs: tuple[float, ...]  # of each unit after those before it
    valid_documents: tuple[int, ...]  # |Y| after each unit
    passage: int | None = None  # of a long document: which of its vectors is nearest to the query


class Texts(Protocol):
    """Strings by number: a list, or a table on disk."""

    def __getitem__(self, number: int, /) -> str:
        """The string with a number."""
        ...


def as_hits(found: Sequence[Found], ids: Texts, units: Texts) -> list[Hit]:
    """Hits with ids and texts; `units` are the texts of the units by number (negative: no text)."""
    spoken = {unit for one in found for unit in one.units if unit >= 0}
    texts = {unit: units[unit] for unit in spoken}  # the hits of a query have many in common
    return [
        Hit(ids[one.document], one.score, _reason(one, texts), passage=one.passage) for one in found
    ]


def _reason(found: Found, texts: Mapping[int, str]) -> Reason:
    path = zip(found.units, found.log_probs, found.valid_documents, strict=True)
    spoken = [(texts[unit], log_prob, valid) for unit, log_prob, valid in path if unit >= 0]
    return Reason(*zip(*spoken, strict=True)) if spoken else Reason((), (), ())


@dataclass(frozen=True, slots=True)
class Backpointers:
    """The hypotheses that one step of the search chose, each with its parent."""

    parent: Int  # [R] the row of the step before
    unit: Int  # [R]
    log_prob: Float  # [R]
    valid: Int  # [R] |Y|


class Trail:
    """The back pointers of all steps of a search, to walk back from a hit."""

    def __init__(self) -> None:
        self._steps: list[Backpointers] = []

    def add(self, step: Backpointers) -> None:
        """Append the back pointers of the newest step."""
        self._steps.append(step)

    def found(
        self, document: int, score: float, steps: int, row: int, identifier: Sequence[int] = ()
    ) -> Found:
        """A document with the path that led to it.

        Args:
            document: its number.
            score: its score.
            steps: the number of the step, from 1, after which it was complete or decided.
            row: the row of that step.
            identifier: the units of a decided document; those that were not generated follow the
                path with log p = 0.
        """
        path: list[tuple[int, float, int]] = []
        for step in reversed(self._steps[:steps]):
            path.append((int(step.unit[row]), float(step.log_prob[row]), int(step.valid[row])))
            row = step.parent[row]
        path.reverse()
        rest = list(identifier)
        for unit, *_ in path:
            if unit in rest:  # the end of a sequence is no unit of its identifier
                rest.remove(unit)
        path += [(unit, 0.0, 1) for unit in rest]
        units, log_probs, valid = zip(*path, strict=True)
        return Found(document, score, units, log_probs, valid)


class Hits:
    """The best k documents of each query so far, each in its best orders; ties by document."""

    def __init__(
        self,
        queries: int,
        k: int,
        orders: int = 1,
        units_of: Callable[[int], Sequence[int]] | None = None,
    ) -> None:
        """Hold nothing yet.

        Args:
            queries: the number of queries.
            k: documents for each query, at most.
            orders: in how many orders a document is found.
            units_of: the units of a document's identifier, where those that were not generated are
                to be shown as well.
        """
        self._queries, self._k, self._orders, self._units_of = queries, k, orders, units_of
        self._query = self._document = self._steps = self._row = np.zeros(0, dtype=np.int64)
        self._score = np.zeros(0)

    def __len__(self) -> int:
        """The number of queries."""
        return self._queries

    def add(self, query: Int, score: Float, rows: Int, completed: Ragged, steps: int) -> None:
        """Record the documents that were completed at some rows of the newest step."""
        if not len(completed.values):
            return
        times = np.diff(completed.offsets)
        self._query = np.concatenate((self._query, np.repeat(query, times)))
        self._score = np.concatenate((self._score, np.repeat(score, times)))
        self._row = np.concatenate((self._row, np.repeat(rows, times)))
        self._document = np.concatenate((self._document, completed.values))
        self._steps = np.concatenate((self._steps, np.full(len(completed.values), steps)))
        self._keep(np.lexsort((-self._score, self._document, self._query)))
        self._merge(self._first_of_document())
        self._keep(np.lexsort((self._document, -self._score, self._query)))
        self._cut()

    def bar(self) -> Float:
        """[Q] the k-th best score, −∞ where there are fewer than k."""
        bars = np.full(self._queries, -np.inf)
        last = rank_within(self._query) == self._k - 1
        bars[self._query[last]] = self._score[last]
        return bars

    def found(self, trail: Trail) -> list[list[Found]]:
        """The documents found for each query, best first, with their paths."""
        answers: list[list[Found]] = [[] for _ in range(self._queries)]
        for i in np.flatnonzero(rank_within(self._query) < self._k):
            document, steps, row = (int(x[i]) for x in (self._document, self._steps, self._row))
            score, whole = float(self._score[i]), self._identifier(document)
            hit = trail.found(document, score, steps, row, whole)
            answers[self._query[i]].append(hit)
        return answers

    def _first_of_document(self) -> Bool:
        """[H] whether the hit before is of another query or document."""
        first: Bool = np.diff(self._query, prepend=-1) != 0
        first |= np.diff(self._document, prepend=-1) != 0
        return first

    def _merge(self, first: Bool) -> None:
        """Keep the best `orders` of the orders that led to each document; they come best first."""
        self._keep(rank_within(np.cumsum(first)) < self._orders)

    def _identifier(self, document: int) -> Sequence[int]:
        """All units of a document, where it may be found before all were generated."""
        return () if self._units_of is None else self._units_of(document)

    def _cut(self) -> None:
        """Keep no more than the k best."""
        self._keep(rank_within(self._query) < self._k)

    def _keep(self, picks: Int | np.ndarray) -> None:
        self._query, self._document = self._query[picks], self._document[picks]
        self._score, self._steps = self._score[picks], self._steps[picks]
        self._row = self._row[picks]


class Totals(Hits):
    """p(D | Q), the sum of p over the orders of T(D), where p of all that is valid adds up to 1.

    Where one document is left all ways to go on lead to it, and their p adds up to 1: whatever
    comes then changes nothing, so the document is found there. Its orders are told apart by where
    that happens, which makes p(D | Q) the sum of p over all prefixes that decide for D. Nothing is
    final before the last of them, so nothing is dropped for good either.
    """

    def __init__(self, queries: int, k: int, identifier: Callable[[int], Sequence[int]]) -> None:
        """`identifier` gives the units of a document's identifier."""
        super().__init__(queries, k, units_of=identifier)

    def bar(self) -> Float:
        """[Q] −∞: any document may still gain."""
        return np.full(self._queries, -np.inf)

    def _merge(self, first: Bool) -> None:
        """Add up what led to a document; the path that gave most is shown."""
        total = np.logaddexp.reduceat(self._score, np.flatnonzero(first))
        self._keep(first)
        self._score = total

    def _cut(self) -> None:
        """Keep all documents, since any may still gain."""
