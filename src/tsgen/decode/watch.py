"""Where one document stood in the beam, step by step, and what was better when it fell out."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tsgen.constrain.constraint import Int
from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.candidates import Candidates
from tsgen.decode.config import DecodeConfig
from tsgen.decode.expand import compete
from tsgen.decode.follow import follow
from tsgen.decode.found import Texts
from tsgen.decode.moment import Moment
from tsgen.decode.trace import Hypothesis, Tracer

RIVALS = 3  # hypotheses that are shown of those that took the place of the document's own

Cause = Literal["beam", "spelling", "look_ahead", "outranked", "filtered", "no_terms"]
"""Why a document fell out: better hypotheses filled the beam; its next term fell out while it was
spelled; the prior preferred others; so many documents were found that it could not overtake; it is
not among those that were searched; it has no terms."""


@dataclass(frozen=True, slots=True)
class Standing:
    """After a step: the best of the hypotheses that lead to the document, among all that stayed."""

    place: int  # 1 is the best
    kept: int  # how many stayed
    terms: tuple[str, ...]
    score: float
    worst: float  # the score of the last that stayed


@dataclass(frozen=True, slots=True)
class Fall:
    """The step after which no hypothesis led to the document any more."""

    step: int  # from 1; 0: it was never in the beam
    cause: Cause
    terms: tuple[str, ...] = ()  # the best of its subsets with so many terms
    log_prob: float | None = None  # of the last of these terms
    score: float | None = None  # of all of them
    bar: float | None = None  # the worst score that got a place
    worst: tuple[str, ...] = ()  # the terms with that score
    rivals: tuple[Hypothesis, ...] = ()  # what stayed of its prefix with other terms, best first


class Watcher:
    """Observes a search for one query with one document in mind."""

    def __init__(
        self,
        constraint: PostingsConstraint,
        ids: Texts,
        terms: Texts,
        document: int,
        config: DecodeConfig,
    ) -> None:
        """`ids` and `terms` are the texts of documents and terms by number."""
        self._constraint, self._document, self._config = constraint, document, config
        self._names, self._terms = terms, constraint.term_sets.row(document)
        self._tracer = Tracer(constraint, ids, terms, edge=0)
        self._own = np.zeros(1, dtype=np.int64)  # rows that lead to the document: the empty set
        self._found = False
        self.standings: list[Standing] = []
        self.fall = None if len(self._terms) else Fall(0, "no_terms")

    def step(self, moment: Moment) -> None:
        """Called by the search."""
        self._tracer.step(moment)
        if self.fall is not None:
            return
        if moment.pool is not None and self._document not in moment.pool.values:
            self.fall = Fall(0, "filtered")
            return
        before, finding = self._own, self._finding(moment)
        self._own = self._leading(moment, before)
        self._found |= bool(len(finding))
        stayed = np.union1d(self._own, finding)
        if len(stayed):
            self.standings.append(self._standing(moment, int(stayed[0])))
        elif not self._found:
            self.fall = self._fallen(moment, before)

    def _leading(self, moment: Moment, before: Int) -> Int:
        """The rows of the newest step that go on and lead to the document, best first."""
        rows, closed = np.sort(moment.chosen.on), moment.closed
        parent = moment.live.row[closed.kept.origin[rows]]
        leads: Int = rows[np.isin(parent, before) & np.isin(closed.unit[rows], self._terms)]
        return leads

    def _finding(self, moment: Moment) -> Int:
        """The rows at which the document was found."""
        found = moment.closed.found
        rows = np.repeat(np.arange(len(found.offsets) - 1), np.diff(found.offsets))
        return np.intersect1d(rows[found.values == self._document], moment.chosen.counted)

    def _standing(self, moment: Moment, row: int) -> Standing:
        counted, times = moment.chosen.counted, np.diff(moment.closed.found.offsets)
        kept = np.union1d(moment.chosen.on, counted[times[counted] > 0])
        score = moment.closed.kept.score
        place = int(np.searchsorted(kept, row)) + 1
        worst = float(score[kept].min())
        return Standing(place, len(kept), self._path(row), float(score[row]), worst)

    def _path(self, row: int, step: int = -1) -> tuple[str, ...]:
        """The terms of a row of the newest step, or of one before it."""
        number = len(self._tracer.steps) + step
        places = self._tracer.places(number, row) if number >= 0 else ()
        return tuple(one.term for one in self._tracer.path(places))

    def _fallen(self, moment: Moment, before: Int) -> Fall:
        """What the document's own terms scored in this step, and against what."""
        best, term, tokens = self._best(moment, np.flatnonzero(np.isin(moment.live.row, before)))
        score, kept = float(best.score[0]), moment.closed.kept
        parent = int(moment.live.row[best.origin[0]])
        rows = self._to_beat(moment, best)
        last = int(rows[np.argmin(kept.score[rows])]) if len(rows) else None
        bar = float(kept.score[last]) if last is not None else float(moment.bar[0])
        return Fall(
            len(self._tracer.steps),
            self._cause(moment, score, bar, tokens),
            (*self._path(parent, -2), term),
            float(best.log_prob[0]),
            score,
            bar,
            self._path(last) if last is not None else (),
            self._rivals(parent),
        )

    def _best(self, moment: Moment, origins: Int) -> tuple[Candidates, str, int]:
        """The document's best hypothesis with one more of its terms, this term, and the number of
        the model's steps that spell it."""
        pairs = []
        for origin in origins.tolist():
            held = self._path(int(moment.live.row[origin]), -2)
            pairs += [(origin, term) for term in self._terms if self._names[int(term)] not in held]
        origin, term = np.array(pairs, dtype=np.int64).T
        own, tokens = follow(self._constraint, moment, origin, term)
        best = compete(self._constraint, moment.frontier, own, moment.wanted).take(np.array([0]))
        unit = int(self._constraint.units(moment.frontier, best.cursor)[0])
        return best, self._names[unit], tokens

    def _to_beat(self, moment: Moment, best: Candidates) -> Int:
        """The rows of which one had to be worse for the document to stay."""
        after = self._constraint.close(moment.frontier, best.cursor)
        complete = self._document in self._constraint.completed(after).values
        if complete:
            return moment.chosen.counted
        full = len(moment.chosen.on) >= self._config.beam
        decided = int(self._constraint.valid(after)[0]) == 1 and moment.wanted.merge == "sum"
        return moment.chosen.on if full and not decided else np.arange(len(moment.closed.kept))

    def _cause(self, moment: Moment, score: float, bar: float, tokens: int) -> Cause:
        if moment.wanted.bounded and score < moment.bar[0]:
            return "outranked"
        if score <= bar:
            return "beam"
        return "look_ahead" if self._config.look_ahead else "spelling" if tokens > 1 else "beam"

    def _rivals(self, parent: int) -> tuple[Hypothesis, ...]:
        """The best that follow the same terms as the document's own."""
        step = self._tracer.steps[-1]
        parent = parent if len(self._tracer.steps) > 1 else -1
        stayed = (one for one in step.hypotheses if one.fate != "pruned" and one.parent == parent)
        return tuple(sorted(stayed, key=lambda one: -one.score)[:RIVALS])
