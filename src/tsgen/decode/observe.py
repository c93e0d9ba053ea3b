"""Observers of a search: a trace of its beams, and where one document fell out of them.

`Tracer` writes down the beams of a query step by step. `Watcher` follows one document through a
search over term sets, `SequenceWatcher` through one over sequences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch

from tsgen.constrain.constraint import Allowed, Constraint, Int
from tsgen.constrain.term_sets import PostingsConstraint, SetFrontier, documents_of
from tsgen.decode.beam import Step, compete
from tsgen.decode.hypotheses import Candidates, Texts
from tsgen.decode.topk import Float
from tsgen.records import Hit
from tsgen.settings import DecodeConfig

# The beams of one query, step by step, as the search shows them to a `Tracer`.

EDGE = 8  # pruned hypotheses that are shown although the search had no use for them
FEW = 4  # documents that a hypothesis may lead to for them to be listed

Fate = Literal["on", "ends", "pruned", "outranked"]
"""The outcome of a step for a hypothesis: it went on; all its documents are found; better ones took
its place; or k documents were found that its own documents cannot overtake."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A hypothesis X by its newest term and the hypothesis that it continues."""

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
    """The hypotheses of one step: those that the search closed, best first, then the first ones
    that the beam had no place for."""

    hypotheses: tuple[Hypothesis, ...]
    stayed: int  # how many were not pruned, whether or not all of them are shown
    on: int  # how many of these go on


class Tracer:
    """An observer that writes down the beams of a search for one query."""

    def __init__(
        self, constraint: PostingsConstraint, ids: Texts, terms: Texts, edge: int = EDGE
    ) -> None:
        """`ids` and `terms` are the texts of documents and terms by number; `edge` is how many
        pruned hypotheses are looked for."""
        self._constraint, self._ids, self._terms, self._edge = constraint, ids, terms, edge
        self.steps: list[TraceStep] = []

    def step(self, step: Step) -> None:
        """Take in the newest step; the search calls this."""
        closed = step.closed
        count = len(closed.kept)
        parent = step.live.row[closed.kept.origin]
        counted = np.isin(np.arange(count), step.chosen.counted).tolist()
        found = [closed.found.row(row).tolist() if counted[row] else [] for row in range(count)]
        rows = self._rows(closed.kept, closed.unit, closed.valid, closed.frontier)
        fates = _fates(step)
        shown = [
            self._hypothesis(*row, parent[i], found[i], fates[i]) for i, row in enumerate(rows)
        ]
        stayed = sum(one.fate != "pruned" for one in shown)
        on = len(step.chosen.on)
        self.steps.append(TraceStep((*shown, *self._behind(step)), stayed, on))

    def places(self, step: int, place: int) -> tuple[int, ...]:
        """The places of a hypothesis and its ancestors in steps 0 … `step`."""
        places = [place]
        for number in range(step, 0, -1):
            places.append(self.steps[number].hypotheses[places[-1]].parent)
        return tuple(reversed(places))

    def path(self, places: Sequence[int]) -> tuple[Hypothesis, ...]:
        """The hypotheses at these places of the first steps."""
        steps = self.steps[: len(places)]
        return tuple(step.hypotheses[place] for step, place in zip(steps, places, strict=True))

    def places_of(self, hit: Hit) -> tuple[int, ...]:
        """The places of the hypotheses that led to a hit.

        They are fewer than the terms of the document where it was decided before all its terms were
        generated.
        """
        terms = hit.reason.terms if hit.reason else ()
        for number, step in enumerate(self.steps):
            for place, hypothesis in enumerate(step.hypotheses):
                if hit.document_id in hypothesis.found:
                    places = self.places(number, place)
                    if tuple(h.term for h in self.path(places)) == terms[: number + 1]:
                        return places
        return ()

    def _behind(self, step: Step) -> list[Hypothesis]:
        """The hypotheses that a beam with `edge` more places would have kept."""
        if not self._edge:
            return []
        wider, frontier = step.widened(self._edge), step.frontier
        pruned = wider.take(~np.isin(self._paths(step, wider), self._paths(step)))
        if not len(pruned):
            return []
        unit = self._constraint.units(frontier, pruned.cursor)
        after = self._constraint.close(frontier, pruned.cursor)
        rows = self._rows(pruned, unit, self._constraint.valid(after), after)
        parent = step.live.row[pruned.origin]
        return [self._hypothesis(*row, parent[i], [], "pruned") for i, row in enumerate(rows)]

    def _paths(self, step: Step, candidates: Candidates | None = None) -> Int:
        """[C] a number for each candidate, by default each closed one; two candidates have the same
        number if they add the same term to the same hypothesis."""
        candidates = candidates or step.closed.kept
        unit = self._constraint.units(step.frontier, candidates.cursor)
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


def _fates(step: Step) -> list[Fate]:
    chosen, count = step.chosen, len(step.closed.kept)
    fates: list[Fate] = ["pruned"] * count
    for row in chosen.counted[~step.closed.alive[chosen.counted]].tolist():
        fates[row] = "ends"
    for row in chosen.on.tolist():
        fates[row] = "on"
    for row in chosen.outranked.tolist():
        fates[row] = "outranked"
    return fates


# The score of given terms after given hypotheses, whether or not the search looked at them.


def follow(
    constraint: PostingsConstraint, step: Step, origin: Int, terms: Int
) -> tuple[Candidates, int]:
    """Given hypotheses with given terms added, best first, and the most tokens that one term took.

    Args:
        constraint: the term sets.
        step: the step of the search, whose scorer gives log p over the valid tokens.
        origin: [C] the live hypothesis of each candidate.
        terms: [C] the term to add, which must be valid after that hypothesis.
    """
    live = step.live
    begun = Candidates.unspelled(
        live.query, constraint.cursor(step.frontier, live.row), live.score, live.node
    )
    partial, hidden = begun.take(origin), live.hidden[torch.from_numpy(origin)]
    closed: list[Candidates] = []
    while len(partial):
        allowed = constraint.allowed(step.frontier, partial.cursor)
        partial = _next_token(constraint, step, partial, hidden, terms, allowed)
        done = (
            partial.cursor.depth == np.diff(constraint.spelling.offsets)[_ranks(constraint, terms)]
        )
        closed.append(partial.take(done))
        partial, terms = partial.take(~done), terms[~done]
        if len(partial):
            node, hidden = step.read(partial)
            partial = replace(partial, node=node)
    return Candidates.join(closed), len(closed)


def _next_token(
    constraint: PostingsConstraint,
    step: Step,
    partial: Candidates,
    hidden: torch.Tensor,
    terms: Int,
    allowed: Allowed,
) -> Candidates:
    """Each candidate with the next token of its term."""
    tokens = constraint.spelled
    spelled = constraint.spelling.offsets[_ranks(constraint, terms)] + partial.cursor.depth
    entries = np.array(
        [
            start + np.searchsorted(allowed.tokens[start:end], tokens[place])
            for start, end, place in zip(allowed.starts, allowed.ends, spelled, strict=True)
        ]
    )
    log_prob = np.empty(len(partial))
    first = np.searchsorted(partial.query, np.arange(len(step.bar) + 1))
    for block in step.scorer.blocks(hidden, allowed, first):
        column = block.column[entries[block.rows]]
        logits = block.logits[np.arange(len(column)), column].astype(np.float64)
        log_prob[block.rows] = np.minimum(logits - block.normaliser, 0.0)
    cursor = allowed.follow(partial.cursor, np.arange(len(partial)), entries)
    score: Float = partial.score + log_prob
    return replace(
        partial,
        cursor=cursor,
        place=allowed.place[entries],
        unread=cursor.depth - partial.cursor.depth,
        score=score,
        log_prob=partial.log_prob + log_prob,
    )


def _ranks(constraint: PostingsConstraint, terms: Int) -> Int:
    return constraint.spelling.rank_of[terms].astype(np.int64)


# The place of one document in the beam, step by step, and what was better when it fell out.

RIVALS = 3  # hypotheses that are shown of those that took the place of the document's own

Cause = Literal["beam", "spelling", "look_ahead", "outranked", "filtered", "no_terms"]
"""Why a document fell out: better hypotheses filled the beam; its next term fell out while it was
spelled; the prior preferred others; so many documents were found that it could not overtake; it is
not among those that were searched; it has no terms."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The best hypothesis that leads to the document after a step, among all that stayed."""

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
    """An observer that follows one document through a search over term sets for one query."""

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

    def step(self, step: Step) -> None:
        """Take in the newest step; the search calls this."""
        self._tracer.step(step)
        if self.fall is not None:
            return
        if step.pool is not None and self._document not in step.pool.values:
            self.fall = Fall(0, "filtered")
            return
        before, finding = self._own, self._finding(step)
        self._own = self._leading(step, before)
        self._found |= bool(len(finding))
        stayed = np.union1d(self._own, finding)
        if len(stayed):
            self.standings.append(self._standing(step, int(stayed[0])))
        elif not self._found:
            self.fall = self._fallen(step, before)

    def _leading(self, step: Step, before: Int) -> Int:
        """The rows of the newest step that go on and lead to the document, best first."""
        rows, closed = np.sort(step.chosen.on), step.closed
        parent = step.live.row[closed.kept.origin[rows]]
        leads: Int = rows[np.isin(parent, before) & np.isin(closed.unit[rows], self._terms)]
        return leads

    def _finding(self, step: Step) -> Int:
        """The rows at which the document was found."""
        found = step.closed.found
        rows = np.repeat(np.arange(len(found.offsets) - 1), np.diff(found.offsets))
        return np.intersect1d(rows[found.values == self._document], step.chosen.counted)

    def _standing(self, step: Step, row: int) -> Standing:
        counted, times = step.chosen.counted, np.diff(step.closed.found.offsets)
        kept = np.union1d(step.chosen.on, counted[times[counted] > 0])
        score = step.closed.kept.score
        place = int(np.searchsorted(kept, row)) + 1
        worst = float(score[kept].min())
        return Standing(place, len(kept), self._path(row), float(score[row]), worst)

    def _path(self, row: int, step: int = -1) -> tuple[str, ...]:
        """The terms of a row of the newest step, or of one before it."""
        number = len(self._tracer.steps) + step
        places = self._tracer.places(number, row) if number >= 0 else ()
        return tuple(one.term for one in self._tracer.path(places))

    def _fallen(self, step: Step, before: Int) -> Fall:
        """The score of the document's best hypothesis in this step, and the one it had to beat."""
        best, term, tokens = self._best(step, np.flatnonzero(np.isin(step.live.row, before)))
        score, kept = float(best.score[0]), step.closed.kept
        parent = int(step.live.row[best.origin[0]])
        rows = self._to_beat(step, best)
        last = int(rows[np.argmin(kept.score[rows])]) if len(rows) else None
        bar = float(kept.score[last]) if last is not None else float(step.bar[0])
        return Fall(
            len(self._tracer.steps),
            self._cause(step, score, bar, tokens),
            (*self._path(parent, -2), term),
            float(best.log_prob[0]),
            score,
            bar,
            self._path(last) if last is not None else (),
            self._rivals(parent),
        )

    def _best(self, step: Step, origins: Int) -> tuple[Candidates, str, int]:
        """The document's best hypothesis with one more of its terms, this term, and the number of
        the model's steps that spell it."""
        pairs = []
        for origin in origins.tolist():
            held = self._path(int(step.live.row[origin]), -2)
            pairs += [(origin, term) for term in self._terms if self._names[int(term)] not in held]
        origin, term = np.array(pairs, dtype=np.int64).T
        own, tokens = follow(self._constraint, step, origin, term)
        best = compete(self._constraint, step.frontier, own, step.wanted).take(np.array([0]))
        unit = int(self._constraint.units(step.frontier, best.cursor)[0])
        return best, self._names[unit], tokens

    def _to_beat(self, step: Step, best: Candidates) -> Int:
        """The rows of which one had to be worse for the document to stay."""
        after = self._constraint.close(step.frontier, best.cursor)
        complete = self._document in self._constraint.completed(after).values
        if complete:
            return step.chosen.counted
        full = len(step.chosen.on) >= self._config.beam
        decided = int(self._constraint.valid(after)[0]) == 1 and step.wanted.merge == "sum"
        return step.chosen.on if full and not decided else np.arange(len(step.closed.kept))

    def _cause(self, step: Step, score: float, bar: float, tokens: int) -> Cause:
        if step.wanted.bounded and score < step.bar[0]:
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


WIDENED = 16_384  # places behind the beam in which the document's own prefix is looked for
END = -1  # the unit that closes a sequence


class SequenceWatcher:
    """An observer that follows one document through a search over sequences for one query."""

    def __init__(self, constraint: Constraint, name: Callable[[int], str], document: int) -> None:
        """`name` is the text of a unit by its number."""
        self._constraint, self._name, self._document = constraint, name, document
        self._identifier = [*constraint.identifier(document), END]
        self._own = 0  # the row with the document's prefix: at first the empty one
        self._steps: list[tuple[Int, Int]] = []  # parent and unit of each row
        self._found = False
        self.standings: list[Standing] = []
        self.fall: Fall | None = None

    def step(self, step: Step) -> None:
        """Take in the newest step; the search calls this."""
        if self._found or self.fall is not None:
            return
        kept, closed = step.closed.kept, step.closed
        parent, unit = step.live.row[kept.origin], closed.unit
        self._steps.append((parent, unit))
        self._found = self._document in closed.found.take(step.chosen.counted).values
        own = np.flatnonzero((parent == self._own) & (unit == self._next()))
        stayed = own[np.isin(own, step.chosen.on)] if not self._found else own
        if len(stayed):
            self.standings.append(self._standing(step, int(stayed[0])))
            self._own = int(stayed[0])
        else:
            self.fall = self._fallen(step, self._steps[-1])

    def _next(self) -> int:
        return self._identifier[len(self._steps) - 1]

    def _standing(self, step: Step, row: int) -> Standing:
        kept, score = _stayed(step), step.closed.kept.score
        place = int(np.searchsorted(kept, row)) + 1
        return Standing(
            place, len(kept), self._path(row), float(score[row]), float(score[kept].min())
        )

    def _fallen(self, step: Step, last: tuple[Int, Int]) -> Fall:
        kept, score = _stayed(step), step.closed.kept.score
        worst = int(kept[np.argmin(score[kept])]) if len(kept) else None
        log_prob, own = self._own_score(step)
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
            self._rivals(step, kept[last[0][kept] == self._own]),
        )

    def _own_score(self, step: Step) -> tuple[float | None, float | None]:
        """log p of the document's next unit and the score with it, where a wider beam shows them:
        one whose spelling falls out on the way is in none."""
        more, before = 64, -1
        while more <= WIDENED:
            wider: Candidates = step.widened(more)
            unit = self._constraint.units(step.frontier, wider.cursor)
            own = np.flatnonzero(
                (step.live.row[wider.origin] == self._own) & (unit == self._next())
            )
            if len(own):
                return float(wider.log_prob[own[0]]), float(wider.score[own[0]])
            if len(wider) == before:
                break
            more, before = 4 * more, len(wider)
        return None, None

    def _rivals(self, step: Step, rows: Int) -> tuple[Hypothesis, ...]:
        """The best hypotheses that continue the document's prefix with other units."""
        closed = step.closed
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


def _stayed(step: Step) -> Int:
    """The rows that go on or at which documents were found, best first."""
    counted, times = step.chosen.counted, np.diff(step.closed.found.offsets)
    return np.union1d(step.chosen.on, counted[times[counted] > 0])
