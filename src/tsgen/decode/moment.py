"""One step of the search, as the search itself and whoever observes it see it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from tsgen.constrain.constraint import Bool, Int, Ragged
from tsgen.decode.candidates import Candidates
from tsgen.decode.expand import Wanted
from tsgen.decode.score import Scorer
from tsgen.decode.select import Float


@dataclass(frozen=True, slots=True)
class Live:
    """Hypotheses between two units, sorted by query."""

    query: Int  # [R]
    score: Float  # [R]
    row: Int  # [R] of the frontier, and of the trail's newest step
    node: torch.Tensor  # [R]
    hidden: torch.Tensor  # [R, d]


@dataclass(frozen=True, slots=True)
class Closed:
    """Hypotheses whose newest unit has just been closed, by query, best first."""

    kept: Candidates
    unit: Int  # [C] that was closed
    frontier: Any  # with a row for each of them
    found: Ragged  # [C] the documents that are complete or decided
    valid: Int  # [C] |Y|

    @property
    def alive(self) -> Bool:
        """[C] whether some document goes on."""
        return self.valid > np.diff(self.found.offsets)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Rows of the closed hypotheses."""

    counted: Int  # whose complete documents are found
    on: Int  # that go on
    outranked: Int  # of the B best, those whose documents can no longer come among the best k


@dataclass(frozen=True, slots=True)
class Moment:
    """A step whose hypotheses are chosen, before the model reads them."""

    frontier: Any  # of the hypotheses that the step began with
    live: Live  # these
    wanted: Wanted
    closed: Closed
    chosen: Chosen
    bar: Float  # [Q] the k-th best score found so far
    pool: Ragged | None  # what the search is limited to
    scorer: Scorer
    read: Callable[[Candidates], tuple[torch.Tensor, torch.Tensor]]
    """Let the model read candidates' last tokens: node and hidden state of each."""
    widened: Callable[[int], Candidates]
    """What would have been closed had there been so many places more."""

    @property
    def number(self) -> int:
        """How many units the closed hypotheses have."""
        return self.wanted.paths


class Observer(Protocol):
    """Is shown every step; changes nothing."""

    def step(self, moment: Moment) -> None:
        """After a step's hypotheses were chosen."""
        ...
