"""How an answer was generated: the beams of one query, step by step.

The search itself is not repeated here: a `Tracer` observes it and writes down what it sees.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tsgen.constrain.constraint import Int
from tsgen.constrain.frontier import SetFrontier
from tsgen.constrain.listing import documents_of
from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.candidates import Candidates
from tsgen.decode.found import Texts
from tsgen.decode.moment import Moment
from tsgen.decode.select import Float
from tsgen.records import Hit

EDGE = 8  # pruned hypotheses that are shown although the search had no use for them
FEW = 4  # documents that a hypothesis may lead to for them to be listed

Fate = Literal["on", "ends", "pruned", "outranked"]
"""What became of a hypothesis: it went on; all its documents are found; others were better; or k
documents were found that its own cannot overtake."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """X, the terms so far, of which `term` is the newest."""

    parent: int  # its place in the step before; -1: it is the first term
    term: str
    log_prob: float  # of the term after those before it
    score: float  # of all of them; a sum over orders where these are added up
    valid_documents: int  # |Y|
    documents: tuple[str, ...]  # Y, where it is small
    found: tuple[str, ...]  # the documents that are complete, or decided, and count as found
    fate: Fate


@dataclass(frozen=True, slots=True)
class TraceStep:
    """The hypotheses with one more term: first those that the search closed, best first, then
    those right behind the edge of the beam."""

    hypotheses: tuple[Hypothesis, ...]
    stayed: int  # how many were not pruned, whether or not all of them are shown
    on: int  # how many of these go on


class Tracer:
    """Writes down the beams of a search for one query."""

    def __init__(
        self, constraint: PostingsConstraint, ids: Texts, terms: Texts, edge: int = EDGE
    ) -> None:
        """`ids` and `terms` are the texts of documents and terms by number; `edge` is how many
        pruned hypotheses are looked for."""
        self._constraint, self._ids, self._terms, self._edge = constraint, ids, terms, edge
        self.steps: list[TraceStep] = []

    def step(self, moment: Moment) -> None:
        """Called by the search."""
        closed = moment.closed
        count = len(closed.kept)
        parent = moment.live.row[closed.kept.origin]
        counted = np.isin(np.arange(count), moment.chosen.counted).tolist()
        found = [closed.found.row(row).tolist() if counted[row] else [] for row in range(count)]
        rows = self._rows(closed.kept, closed.unit, closed.valid, closed.frontier)
        fates = _fates(moment)
        shown = [
            self._hypothesis(*row, parent[i], found[i], fates[i]) for i, row in enumerate(rows)
        ]
        stayed = sum(one.fate != "pruned" for one in shown)
        on = len(moment.chosen.on)
        self.steps.append(TraceStep((*shown, *self._behind(moment)), stayed, on))

    def places(self, step: int, place: int) -> tuple[int, ...]:
        """Where a hypothesis and those that it grew from stand; steps count from 0."""
        places = [place]
        for number in range(step, 0, -1):
            places.append(self.steps[number].hypotheses[places[-1]].parent)
        return tuple(reversed(places))

    def path(self, places: Sequence[int]) -> tuple[Hypothesis, ...]:
        """The hypotheses at these places of the first steps."""
        steps = self.steps[: len(places)]
        return tuple(step.hypotheses[place] for step, place in zip(steps, places, strict=True))

    def places_of(self, hit: Hit) -> tuple[int, ...]:
        """The places of the hypotheses that led to a hit. They are fewer than its terms where its
        document was decided before all of these were generated."""
        terms = hit.reason.terms if hit.reason else ()
        for number, step in enumerate(self.steps):
            for place, hypothesis in enumerate(step.hypotheses):
                if hit.document_id in hypothesis.found:
                    places = self.places(number, place)
                    if tuple(h.term for h in self.path(places)) == terms[: number + 1]:
                        return places
        return ()

    def _behind(self, moment: Moment) -> list[Hypothesis]:
        """What would have been kept had there been some places more."""
        if not self._edge:
            return []
        wider, frontier = moment.widened(self._edge), moment.frontier
        pruned = wider.take(~np.isin(self._paths(moment, wider), self._paths(moment)))
        if not len(pruned):
            return []
        unit = self._constraint.units(frontier, pruned.cursor)
        after = self._constraint.close(frontier, pruned.cursor)
        rows = self._rows(pruned, unit, self._constraint.valid(after), after)
        parent = moment.live.row[pruned.origin]
        return [self._hypothesis(*row, parent[i], [], "pruned") for i, row in enumerate(rows)]

    def _paths(self, moment: Moment, candidates: Candidates | None = None) -> Int:
        """[C] a number for each of the candidates, or of those that were closed: equal where the
        same hypothesis got the same term."""
        candidates = candidates or moment.closed.kept
        unit = self._constraint.units(moment.frontier, candidates.cursor)
        return candidates.origin * len(self._constraint.spelling) + unit

    def _rows(
        self, candidates: Candidates, unit: Int, valid: Int, frontier: SetFrontier
    ) -> list[tuple[int, float, float, int, tuple[int, ...]]]:
        listed = documents_of(frontier, np.arange(len(unit)), FEW)
        values: tuple[Int | Float, ...] = (unit, candidates.log_prob, candidates.score, valid)
        return list(zip(*(value.tolist() for value in values), listed, strict=True))

    def _hypothesis(
        self,
        unit: int,
        log_prob: float,
        score: float,
        valid: int,
        documents: Sequence[int],
        parent: int,
        found: Sequence[int],
        fate: Fate,
    ) -> Hypothesis:
        listed, complete = (tuple(self._ids[d] for d in some) for some in (documents, found))
        parent = int(parent) if self.steps else -1
        term = self._terms[unit]
        return Hypothesis(parent, term, log_prob, score, valid, listed, complete, fate)


def _fates(moment: Moment) -> list[Fate]:
    chosen, count = moment.chosen, len(moment.closed.kept)
    fates: list[Fate] = ["pruned"] * count
    for row in chosen.counted[~moment.closed.alive[chosen.counted]].tolist():
        fates[row] = "ends"
    for row in chosen.on.tolist():
        fates[row] = "on"
    for row in chosen.outranked.tolist():
        fates[row] = "outranked"
    return fates
