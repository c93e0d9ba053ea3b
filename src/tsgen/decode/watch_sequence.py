"""Where a document stood in the beam whose identifier is a sequence: it has one prefix a step."""

from collections.abc import Callable

import numpy as np

from tsgen.constrain.constraint import Constraint, Int
from tsgen.decode.candidates import Candidates
from tsgen.decode.moment import Moment
from tsgen.decode.select import Float
from tsgen.decode.trace import Hypothesis
from tsgen.decode.watch import RIVALS, Fall, Standing

WIDENED = 16_384  # places behind the beam in which the document's own prefix is looked for
END = -1  # the unit that closes a sequence


class SequenceWatcher:
    """Observes a search for one query with one document in mind."""

    def __init__(self, constraint: Constraint, name: Callable[[int], str], document: int) -> None:
        """`name` is the text of a unit by its number."""
        self._constraint, self._name, self._document = constraint, name, document
        self._identifier = [*constraint.identifier(document), END]
        self._own = 0  # the row with the document's prefix: at first the empty one
        self._steps: list[tuple[Int, Int]] = []  # parent and unit of each row
        self._found = False
        self.standings: list[Standing] = []
        self.fall: Fall | None = None

    def step(self, moment: Moment) -> None:
        """Called by the search."""
        if self._found or self.fall is not None:
            return
        kept, closed = moment.closed.kept, moment.closed
        parent, unit = moment.live.row[kept.origin], closed.unit
        self._steps.append((parent, unit))
        self._found = self._document in closed.found.take(moment.chosen.counted).values
        own = np.flatnonzero((parent == self._own) & (unit == self._next()))
        stayed = own[np.isin(own, moment.chosen.on)] if not self._found else own
        if len(stayed):
            self.standings.append(self._standing(moment, int(stayed[0])))
            self._own = int(stayed[0])
        else:
            self.fall = self._fallen(moment, self._steps[-1])

    def _next(self) -> int:
        return self._identifier[len(self._steps) - 1]

    def _standing(self, moment: Moment, row: int) -> Standing:
        kept, score = _stayed(moment), moment.closed.kept.score
        place = int(np.searchsorted(kept, row)) + 1
        return Standing(
            place, len(kept), self._path(row), float(score[row]), float(score[kept].min())
        )

    def _fallen(self, moment: Moment, last: tuple[Int, Int]) -> Fall:
        kept, score = _stayed(moment), moment.closed.kept.score
        worst = int(kept[np.argmin(score[kept])]) if len(kept) else None
        log_prob, own = self._own_score(moment)
        bar = float(score[worst]) if worst is not None else -np.inf
        before = self.standings[-1].terms if self.standings else ()
        return Fall(
            len(self._steps),
            "spelling" if own is None or own > bar else "beam",
            (*before, self._name(self._next())),
            log_prob,
            own,
            bar,
            () if worst is None else self._path(worst),
            self._rivals(moment, kept[last[0][kept] == self._own]),
        )

    def _own_score(self, moment: Moment) -> tuple[float | None, float | None]:
        """log p of the document's next unit and the score with it, where a wider beam shows them:
        one whose spelling falls out on the way is in none."""
        more, before = 64, -1
        while more <= WIDENED:
            wider: Candidates = moment.widened(more)
            unit = self._constraint.units(moment.frontier, wider.cursor)
            own = np.flatnonzero(
                (moment.live.row[wider.origin] == self._own) & (unit == self._next())
            )
            if len(own):
                return float(wider.log_prob[own[0]]), float(wider.score[own[0]])
            if len(wider) == before:
                break
            more, before = 4 * more, len(wider)
        return None, None

    def _rivals(self, moment: Moment, rows: Int) -> tuple[Hypothesis, ...]:
        """What stayed of the document's own prefix with other units, best first."""
        closed = moment.closed
        best = rows[np.argsort(-closed.kept.score[rows], kind="stable")][:RIVALS]
        columns: tuple[Int | Float, ...] = (
            closed.unit,
            closed.kept.log_prob,
            closed.kept.score,
            closed.valid,
        )
        shown = zip(*(column[best].tolist() for column in columns), strict=True)
        return tuple(
            Hypothesis(self._own, self._name(unit), log_prob, score, valid, (), (), "on")
            for unit, log_prob, score, valid in shown
        )

    def _path(self, row: int) -> tuple[str, ...]:
        """The units of a row of the newest step."""
        units: list[int] = []
        for parent, unit in reversed(self._steps):
            units.append(int(unit[row]))
            row = int(parent[row])
        return tuple(self._name(unit) for unit in reversed(units) if unit != END)


def _stayed(moment: Moment) -> Int:
    """The rows that go on or at which documents were found, best first."""
    counted, times = moment.chosen.counted, np.diff(moment.closed.found.offsets)
    return np.union1d(moment.chosen.on, counted[times[counted] > 0])
