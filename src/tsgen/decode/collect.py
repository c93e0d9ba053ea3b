"""All hypotheses that a search has kept at some step, whether or not they went on."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tsgen.constrain.constraint import Int
from tsgen.decode.moment import Moment
from tsgen.decode.select import Float


@dataclass(frozen=True, slots=True)
class Kept:
    """Hypotheses as slices of the constraint's list of units, in the order they were kept."""

    low: Int  # [H]
    high: Int  # [H]
    depth: Int  # [H] tokens
    score: Float  # [H] log p

    @classmethod
    def none(cls) -> Self:
        """No hypotheses."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, np.zeros(0))


class Collector:
    """Observes a search over many queries."""

    def __init__(self) -> None:
        self._before, self._queries = 0, 0  # those of earlier batches; of all up to this one
        self._parts: list[tuple[Int, Kept]] = []

    def step(self, moment: Moment) -> None:
        """Called by the search."""
        if moment.number == 1:
            self._before, self._queries = self._queries, self._queries + len(moment.bar)
        kept = moment.closed.kept
        slices = Kept(kept.cursor.low, kept.cursor.high, kept.cursor.depth, kept.score)
        self._parts.append((self._before + kept.query, slices))

    def kept(self) -> list[Kept]:
        """For each query what was kept."""
        found: list[list[Kept]] = [[] for _ in range(self._queries)]
        for query, part in self._parts:
            bounds = np.searchsorted(query, np.arange(self._queries + 1))
            for number in np.unique(query).tolist():
                found[number].append(_rows(part, slice(bounds[number], bounds[number + 1])))
        return [_joined(parts) for parts in found]


def _rows(kept: Kept, rows: slice) -> Kept:
    return Kept(kept.low[rows], kept.high[rows], kept.depth[rows], kept.score[rows])


def _joined(parts: list[Kept]) -> Kept:
    parts = parts or [Kept.none()]
    return Kept(
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([part.depth for part in parts]),
        np.concatenate([part.score for part in parts]),
    )
