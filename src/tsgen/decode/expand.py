"""One more token: the best valid continuations of every query's partial spellings."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from tsgen.constrain.constraint import Bool, Constraint, Int
from tsgen.decode.candidates import Candidates, rank_within
from tsgen.decode.merge import merge, uncrowded
from tsgen.decode.score import Block, Scorer
from tsgen.decode.select import Best, Float

ROOM = 4  # candidates for each set that is wanted, to begin with: most sets are reached twice or so


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many candidates a query needs after a step of the search."""

    sets: int  # that close the unit
    paths: int  # the most hypotheses that lead to the same set
    partial: int  # that go on spelling
    merge: str
    per_document: int  # of one and the same decided document; 0: no limit
    bounded: bool  # whether what scores less than the k-th document found may be dropped

    @property
    def closed(self) -> int:
        """Candidates to find: to add up all paths to a set, all of them must be among these."""
        return self.sets * self.paths if self.merge == "sum" else self.sets

    @property
    def rooms(self) -> tuple[int, int]:
        """How many to look at first, closed and partial."""
        spare = min(self.paths, ROOM) if self.merge == "max" else 1
        return self.closed * spare, self.partial


def expand(
    constraint: Constraint,
    scorer: Scorer,
    frontier: Any,
    partial: Candidates,
    hidden: torch.Tensor,
    floor: Float,
    wanted: Wanted,
) -> tuple[Candidates, Candidates]:
    """The best candidates that close their unit, and the best that go on spelling it."""
    allowed = constraint.allowed(frontier, partial.cursor)
    first = np.searchsorted(partial.query, np.arange(len(floor) + 1))
    closed, opened = [], []
    for block in scorer.blocks(hidden, allowed, first):
        rooms = wanted.rooms
        while True:
            best = block.best(partial.score, floor, rooms)
            found = [_candidates(constraint, frontier, partial, block, part) for part in best]
            found[1] = _uncrowded(constraint, frontier, found[1], wanted)
            if _enough(constraint, frontier, best, found, block, wanted):
                break
            # Some led nowhere, or many to the same sets: look at more.
            rooms = 2 * rooms[0], 2 * rooms[1]
        closed.append(found[0])
        opened.append(found[1])
    return _cut(closed, wanted.closed, wanted.merge == "sum"), _cut(opened, wanted.partial, True)


def _candidates(
    constraint: Constraint, frontier: Any, partial: Candidates, block: Block, best: Best
) -> Candidates:
    """The entries as candidates, without those that lead to no document."""
    filled = np.arange(best.scores.shape[1]) < best.counts[:, None]
    picks, entries = best.cursors[filled] + block.rows.start, best.entries[filled]
    score = best.scores[filled]
    continued = partial.take(picks)
    cursor = block.allowed.follow(partial.cursor, picks, entries)
    with np.errstate(invalid="ignore"):  # −∞ − (−∞), where the prefix was impossible already
        log_prob = np.where(np.isneginf(score), score, continued.log_prob + score - continued.score)
    candidates = replace(
        continued,
        cursor=cursor,
        place=block.allowed.place[entries],
        unread=cursor.depth - continued.cursor.depth,
        score=score,
        log_prob=log_prob,
    )
    unsure = np.flatnonzero(~block.allowed.sure[picks])
    if not len(unsure):
        return candidates
    leads = np.ones(len(candidates), dtype=np.bool_)
    leads[unsure] = constraint.leads(frontier, cursor.take(unsure))
    return candidates.take(leads)


def _enough(
    constraint: Constraint,
    frontier: Any,
    best: tuple[Best, Best],
    found: list[Candidates],
    block: Block,
    wanted: Wanted,
) -> bool:
    """Whether every query of the block has all the valid candidates it needs, or all there are."""
    closed, opened = found
    short = [_full(part) for part in best]
    if short[0].any():
        if wanted.merge != "sum":  # which needs all paths, not so many sets
            closed = compete(constraint, frontier, closed, wanted)
        short[0] &= _per_query(closed, block) < wanted.closed
    short[1] &= _per_query(opened, block) < wanted.partial
    return not (short[0].any() or short[1].any())


def compete(
    constraint: Constraint, frontier: Any, candidates: Candidates, wanted: Wanted
) -> Candidates:
    """The candidates that stay when equal sets are merged and no document has too many."""
    keys = constraint.keys(frontier, candidates.cursor)
    return _uncrowded(constraint, frontier, merge(candidates, keys, wanted.merge), wanted)


def _uncrowded(
    constraint: Constraint, frontier: Any, candidates: Candidates, wanted: Wanted
) -> Candidates:
    """Without those that follow enough better ones to a document that was decided before."""
    if not wanted.per_document:
        return candidates
    document = constraint.decided(frontier, candidates.cursor.row)
    return candidates.take(uncrowded(candidates.query, document, wanted.per_document))


def _per_query(candidates: Candidates, block: Block) -> Int:
    """[Q] the number of candidates of each query of the block."""
    first, last = block.queries.start, block.queries.stop
    return np.bincount(candidates.query - first, minlength=last - first)


def _full(best: Best) -> Bool:
    """[Q] whether there may be more entries than were returned."""
    room = best.scores.shape[1]
    full: Bool = (best.counts == room) & (room > 0)
    return full


def _cut(parts: list[Candidates], most: int, cut: bool) -> Candidates:
    """The blocks' candidates, at most so many for each query."""
    joined = parts[0] if len(parts) == 1 else Candidates.join(parts)
    return joined.take(rank_within(joined.query) < most) if cut else joined
