"""Fusion: what several systems found for a query as one list.

Each system s gives every document a value v_s(D), and a document is ranked by

    Σ_s w_s v_s(D).

Three kinds of values make systems comparable whose scores are not (log-probabilities, BM25):

    ranks    1 / (60 + rank of D), 0 if s did not find it: reciprocal rank fusion
    scores   (score − mean) / standard deviation within the list; the lowest of them if s did not
             find it. A system that is sure of its first document, far ahead of the others, has a
             larger say.
    gaps     score − highest score in the list; the lowest of them if s did not find it. How far
             ahead a document is means the same for every query, so that a system that is never
             sure has little to say; the systems' units are left to the weights.

Ranks and scores are added up as they are. For gaps weights are chosen that rank a sample of judged
queries best.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tsgen.reciprocal_rank import reciprocal_ranks
from tsgen.records import Hit

RANK = 60  # of Cormack, Clarke and Büttcher, SIGIR '09
STEPS = 20  # of a weight from 0 to 1 in the grid

Values = Literal["ranks", "scores", "gaps"]
Floats = NDArray[np.float64]


def fuse(
    lists: Sequence[Sequence[Hit]], weights: Sequence[float], values: Values, k: int
) -> list[Hit]:
    """The best `k` documents of several systems' lists for one query; ties keep the order of the
    lists. A hit has the reason of the first list that gives one."""
    table = ScoreTable.of(lists, values)
    scores = table.values @ np.asarray(weights, np.float64)
    best = np.argsort(-scores, kind="stable")[:k]
    reasons = {
        hit.document_id: hit.reason for hits in reversed(lists) for hit in hits if hit.reason
    }
    ids = [table.documents[i] for i in best]
    return [Hit(id, float(scores[i]), reasons.get(id)) for i, id in zip(best, ids, strict=True)]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """The documents that the systems found for a query, and v_s(D) of each."""

    documents: Sequence[str]
    values: Floats  # [documents, systems]

    @classmethod
    def of(cls, lists: Sequence[Sequence[Hit]], values: Values) -> "ScoreTable":
        """Build the table from every system's hits, best first."""
        ids = dict.fromkeys(hit.document_id for hits in lists for hit in hits)
        row = {id: i for i, id in enumerate(ids)}
        table = np.zeros((len(row), len(lists)))
        for system, hits in enumerate(lists):
            rows = [row[hit.document_id] for hit in hits]
            own, others = _VALUES[values](hits)
            table[:, system] = others
            table[rows, system] = own
        return cls(list(row), table)

    def reciprocal_ranks(self, relevant: Collection[str], weights: Floats) -> Floats:
        """[W] 1 / rank of the first relevant document for each row of weights [W, systems], 0 if
        that is not among the first ten. Ties as in `fuse`."""
        found = [i for i, id in enumerate(self.documents) if id in relevant]
        if not found:
            return np.zeros(len(weights))
        scores = weights @ self.values.T  # [W, documents]
        best = scores[:, found].max(axis=1, keepdims=True)
        first = np.array(found)[scores[:, found].argmax(axis=1)]
        before = np.arange(scores.shape[1]) < first[:, None]
        ranks = 1 + (scores > best).sum(axis=1) + ((scores == best) & before).sum(axis=1)
        return reciprocal_ranks(ranks)


@dataclass(frozen=True, slots=True)
class Tuned:
    """The weights that were best on a sample, and M@10 of all shares that were tried. A weight is
    a share divided by the system's unit."""

    weights: tuple[float, ...]
    shares: tuple[float, ...]
    figures: dict[tuple[float, ...], float]


def tune(
    tables: Sequence[ScoreTable], relevant: Sequence[Collection[str]], steps: int = STEPS
) -> Tuned:
    """Of all shares in multiples of 1 / `steps` with sum 1, those with the highest M@10 over some
    queries. A system's unit is the mean standard deviation of its values. Of equally good shares
    the middle ones are taken: they are the farthest from worse ones."""
    units = np.mean([table.values.std(axis=0) for table in tables if table.documents], axis=0)
    units[units == 0] = 1.0
    grid = np.array(list(_grid(len(units), steps))) / steps
    total = np.zeros(len(grid))
    for table, answers in zip(tables, relevant, strict=True):
        total += table.reciprocal_ranks(answers, grid / units)
    means = np.round(total / len(tables), 12)
    best = grid[means == means.max()]
    middle = best[np.abs(best - best.mean(axis=0)).sum(axis=1).argmin()]
    figures = {tuple(w): m for w, m in zip(grid.tolist(), means.tolist(), strict=True)}
    return Tuned(tuple((middle / units).tolist()), tuple(middle.tolist()), figures)


def _by_rank(hits: Sequence[Hit]) -> tuple[Floats, float]:
    """Values of the hits by their ranks, and the value of all other documents."""
    return 1 / (RANK + np.arange(1, len(hits) + 1, dtype=np.float64)), 0.0


def _by_score(hits: Sequence[Hit]) -> tuple[Floats, float]:
    """Values of the hits by their scores, and the value of all other documents. Where all scores
    are equal, hits have 1 and others −1."""
    scores = np.array([hit.score for hit in hits], np.float64)
    deviation = scores.std() if len(scores) else 0.0
    if deviation == 0:
        return np.ones(len(hits)), -1.0
    values = (scores - scores.mean()) / deviation
    return values, float(values.min())


def _by_gap(hits: Sequence[Hit]) -> tuple[Floats, float]:
    """Values of the hits by their distance to the last score, and the value of all other documents.
    Where all scores are equal, others are as far behind as a score of 0 would be."""
    scores = np.array([hit.score for hit in hits], np.float64)
    gaps = scores - scores.max(initial=-np.inf)
    return gaps, float(gaps.min(initial=0.0)) or -float(np.abs(scores).max(initial=0.0))


_VALUES = {"ranks": _by_rank, "scores": _by_score, "gaps": _by_gap}


def _grid(systems: int, steps: int) -> Iterator[list[int]]:
    """All ways to write `steps` as a sum of whole numbers, one for each system (stars and bars)."""
    for bars in combinations(range(steps + systems - 1), systems - 1):
        ends = np.array([-1, *bars, steps + systems - 1])
        yield (np.diff(ends) - 1).tolist()
