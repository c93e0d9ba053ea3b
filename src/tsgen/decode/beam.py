"""The beam search, for every kind of identifier: Algorithm 1 of the paper.

Deviations from the paper's text, each for a reason:
- Hypotheses compete after equally many finished units. Within a unit, partial spellings go on while
  finished ones wait, so a whole term is never compared with half of another one.
- Equal sets reached in different orders share one place (`merge`), unless told otherwise.
- A document is found when its whole set was generated, even if other documents go on, and only
  then: all scores are those of complete identifiers. A hypothesis that no document goes on from
  takes no place among the B that do; the next best ones, up to 2 B, move up.
- Most of a beam may be orders and subsets of one set, since it has N! and 2^N of them. With
  `decided = "apart"` a hypothesis that one document is left for leaves the beam for a second one,
  where the best hypothesis of each document is completed: B documents are found, with scores of
  complete identifiers. With `"stop"` it is found there with its score so far, as in the authors'
  code, which compares documents after different numbers of terms.
- What can no longer reach the best k is dropped. Scores only fall, so this changes no answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch

from tsgen.constrain.constraint import Bool, Constraint, Int, Ragged, spans
from tsgen.constrain.kernels import Keys, first_equal, member_keys
from tsgen.constrain.term_sets import SetFrontier
from tsgen.decode.hypotheses import (
    Backpointers,
    Candidates,
    Found,
    Hits,
    Totals,
    Trail,
    rank_within,
)
from tsgen.decode.log_probs import Block, Scorer
from tsgen.decode.topk import Best, Float
from tsgen.model.backbone import Backbone
from tsgen.settings import DecodeConfig

# Merging: equal sets reached in different orders are one hypothesis, or several as in the paper.

_QUERIES = 2**40  # queries take part in keys as members beyond all terms


def merge(candidates: Candidates, keys: Keys, how: str) -> Candidates:
    """The candidates that stay where several have equal sets, by query, best first.

    Args:
        candidates: by query, best first, so that the first of each set is its best.
        keys: [C, 2] hashes of the candidates' sets.
        how: `max`, the best of each set stays; `sum`, it stays with the sum of their probabilities;
            `none`, all stay.
    """
    if how == "none":
        return candidates
    leader = first_equal(keys + member_keys(candidates.query + _QUERIES))
    if how == "sum":
        candidates = candidates.scored(_summed(candidates.score, leader))
    candidates = candidates.take(leader == np.arange(len(leader)))
    if how == "sum":  # adding up may have changed the order
        candidates = candidates.take(np.lexsort((-candidates.score, candidates.query)))
    return candidates


def uncrowded(query: Int, document: Int, most: int) -> Bool:
    """[C] whether fewer than `most` rows before have the same query and document.

    Args:
        query: [C] ascending.
        document: [C] a document, or −1 for none.
        most: rows that stay for each query and document.
    """
    order = np.lexsort((document, query))
    query, document = query[order], document[order]
    new = (np.diff(query, prepend=-1) != 0) | (np.diff(document, prepend=-2) != 0)
    stay = np.empty(len(order), dtype=np.bool_)
    stay[order] = (rank_within(np.cumsum(new)) < most) | (document < 0)
    return stay


def _summed(score: Float, leader: Int) -> Float:
    """[C] log Σ exp over all candidates with the same leader, given at the leader."""
    with np.errstate(invalid="ignore"):
        share = np.where(score == score[leader], 1.0, np.exp(score - score[leader]))
    total: Float = score + np.log(np.maximum(np.bincount(leader, share, len(score)), 1.0))
    return total


# Expansion: the best valid continuations of every query's partial spellings by one token.

ROOM = 4  # candidates to look at first for each set that is wanted: most are reached twice or so


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a step of the search needs: the numbers of candidates for each query."""

    sets: int  # candidates that close the unit
    step: int  # its number from 1: at most so many hypotheses lead to the same set
    partial: int  # candidates that go on spelling it
    merge: str  # as in `DecodeConfig`
    per_document: int  # candidates for the same decided document; 0: no limit
    newly: bool  # whether that counts the documents that a candidate itself decides for
    bounded: bool  # whether hypotheses worse than the k-th document found may be dropped

    @property
    def closed(self) -> int:
        """Closing candidates to find: to add up the paths to a set, all of them must be found."""
        return self.sets * self.step if self.merge == "sum" else self.sets

    @property
    def rooms(self) -> tuple[int, int]:
        """The numbers of closing and of partial candidates to look at first."""
        spare = min(self.step, ROOM) if self.merge == "max" else 1
        return self.closed * spare, self.partial


def expand(
    constraint: Constraint,
    scorer: Scorer,
    frontier: Any,
    partial: Candidates,
    hidden: torch.Tensor,
    floor: Float,
    wanted: Wanted,
    same: Int | None = None,
) -> tuple[Candidates, Candidates]:
    """The best candidates that close their unit, and the best that go on spelling it; `same` as in
    `Scorer.blocks`."""
    allowed = constraint.allowed(frontier, partial.cursor)
    first = np.searchsorted(partial.query, np.arange(len(floor) + 1))
    closed, opened = [], []
    for block in scorer.blocks(hidden, allowed, first, same):
        rooms = wanted.rooms
        while True:
            best = block.best(partial.score, floor, rooms)
            found = [_candidates(constraint, frontier, partial, block, part) for part in best]
            found[1] = _uncrowded(constraint, frontier, found[1], wanted)
            if _enough(constraint, frontier, best, found, block, wanted):
                break
            # Some lead to no document, or many to the same sets: look at more.
            rooms = 2 * rooms[0], 2 * rooms[1]
        closed.append(found[0])
        opened.append(found[1])
    return _cut(closed, wanted.closed, wanted.merge == "sum"), _cut(opened, wanted.partial, True)


def _candidates(
    constraint: Constraint, frontier: Any, partial: Candidates, block: Block, best: Best
) -> Candidates:
    """The best entries as candidates, without those that lead to no document."""
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
    merged = merge(candidates, keys, wanted.merge)
    if not wanted.newly:
        return _uncrowded(constraint, frontier, merged, wanted)
    after = constraint.close(frontier, merged.cursor)
    document = constraint.decided(after, np.arange(len(merged)))
    return merged.take(uncrowded(merged.query, document, wanted.per_document))


def _uncrowded(
    constraint: Constraint, frontier: Any, candidates: Candidates, wanted: Wanted
) -> Candidates:
    """The candidates without those of a decided document that has enough better ones."""
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
    """The candidates of all blocks; where `cut`, at most `most` for each query."""
    joined = parts[0] if len(parts) == 1 else Candidates.join(parts)
    return joined.take(rank_within(joined.query) < most) if cut else joined


# One step of the search, as the search itself and its observers see it.


@dataclass(frozen=True, slots=True)
class Live:
    """R hypotheses between two units, sorted by query.

    With `decided = "apart"` a query's second beam is a query of its own, numbered Q + query.
    """

    query: Int  # [R]
    score: Float  # [R]
    row: Int  # [R] of the frontier, and of the trail's newest step
    node: torch.Tensor  # [R]
    hidden: torch.Tensor  # [R, d]


@dataclass(frozen=True, slots=True)
class Closed:
    """C hypotheses whose newest unit has just been closed, by query, best first."""

    kept: Candidates
    unit: Int  # [C] the unit that was closed
    frontier: Any  # with a row for each hypothesis
    found: Ragged  # [C] the documents that are complete or decided
    valid: Int  # [C] |Y|

    @property
    def alive(self) -> Bool:
        """[C] whether some document goes on."""
        return self.valid > np.diff(self.found.offsets)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choice of a step, as rows of the closed hypotheses."""

    counted: Int  # the rows whose complete documents count as found
    on: Int  # the rows that go on
    outranked: Int  # rows among the B best whose documents can no longer come among the best k
    group: Int  # of the rows that go on


@dataclass(frozen=True, slots=True)
class Step:
    """A step whose hypotheses are chosen, before the model reads them."""

    frontier: Any  # of the hypotheses that the step began with
    live: Live  # the hypotheses that the step began with
    wanted: Wanted
    closed: Closed
    chosen: Chosen
    bar: Float  # [Q] the k-th best score found so far
    pool: Ragged | None  # what the search is limited to
    scorer: Scorer
    read: Callable[[Candidates], tuple[torch.Tensor, torch.Tensor]]
    """Candidates → the node and the hidden state of each after the model read its last tokens."""
    widened: Callable[[int], Candidates]
    """A number of more places → the hypotheses that would have been closed."""

    @property
    def number(self) -> int:
        """How many units the closed hypotheses have."""
        return self.wanted.step


class Observer(Protocol):
    """An object that is shown every step of a search and changes nothing."""

    def step(self, step: Step) -> None:
        """Take in a step whose hypotheses have been chosen."""
        ...


LookAhead = Callable[[Any, Int], Float]
"""(frontier, query of each row [R]) → what is added to each row's score when rows are chosen."""

FORGET_AT = 8  # new nodes for each live one before the cache drops those on no path


class Beam:
    """A beam search for one batch of queries."""

    def __init__(
        self,
        backbone: Backbone,
        constraint: Constraint,
        scorer: Scorer,
        queries: Sequence[str],
        k: int,
        config: DecodeConfig,
        observer: Observer | None = None,
    ) -> None:
        self._backbone, self._constraint, self._config = backbone, constraint, config
        self._observer = observer
        self._scorer, self._trail = scorer, Trail()
        # Whether p of all that may come next adds up to 1, and is added up. See `Totals`.
        self._sums = config.normalise == "valid" and config.merge == "sum"
        self._stops = self._sums or config.decided == "stop"
        self._apart = config.decided == "apart" and not self._sums
        self._queries = len(queries)
        identifier = constraint.identifier if self._stops else None
        self._hits = Hits(len(queries), k, config.orders, identifier)
        if self._sums:
            self._hits = Totals(len(queries), k, constraint.identifier)
        self._cache, node, hidden = backbone.encode(queries)
        self._new_nodes = 0
        rows = np.arange(len(queries))
        self.start = Live(rows, np.zeros(len(queries)), rows, node, hidden)

    def run(
        self, pool: Ragged | None = None, look_ahead: LookAhead | None = None
    ) -> list[list[Found]]:
        """Algorithm 1: the best documents for each query; `pool` limits each to some documents."""
        live, exact = self.start, self._config.normalise == "valid"
        # Over what is valid, a token without an alternative has log p = 0: it needs no model.
        frontier = self._constraint.start(len(live.query), pool, exact, skip=exact)
        for units in range(1, self._constraint.longest + 1):
            wanted = self._wanted(units, look_ahead is not None)
            closed = self._close_units(frontier, live, wanted)
            if self._may_move_up(closed, wanted):
                wanted = replace(wanted, sets=2 * wanted.sets)
                closed = self._close_units(frontier, live, wanted)
            chosen = self._choose(live, closed, wanted, look_ahead)
            if self._observer is not None:
                self._observer.step(self._shown(frontier, live, wanted, closed, chosen, pool))
            live = self._continue(
                replace(closed.kept.take(chosen.on), query=chosen.group), chosen.on
            )
            frontier = closed.frontier
            if not len(live.query):
                break
        return self._hits.found(self._trail)

    def _wanted(self, units: int, look_ahead: bool) -> Wanted:
        """The candidates of a step: B sets, more with a look-ahead or where many are decided."""
        beam, merge = self._config.beam, self._config.merge
        leaves = self._config.decided != "continue" and not self._sums
        per_document = max(self._config.per_document, int(leaves))
        # No document scores more than the hypotheses that lead to it, unless paths are added up
        # later; and a worse hypothesis takes no better one's place, unless something looks ahead.
        bounded = self._config.early_stop and merge != "sum" and not look_ahead
        sets = 2 * beam if self._sums or leaves else beam  # then room for those that stay
        sets = max(sets, self._config.compared * beam) if look_ahead else sets
        return Wanted(sets, units, beam, merge, per_document, leaves, bounded)

    def _may_move_up(self, closed: Closed, wanted: Wanted) -> bool:
        """Whether there may be more hypotheses for the places that complete ones leave free."""
        beam, queries, units = self._config.beam, len(self._hits), wanted.step
        last = units == self._constraint.longest
        if wanted.sets > beam or last or not self._constraint.ends(units):
            return False
        found = np.bincount(closed.kept.query, minlength=queries)
        alive = np.bincount(closed.kept.query[closed.alive], minlength=queries)
        return bool(np.any((found >= wanted.sets) & (alive < beam)))

    def _close_units(self, frontier: Any, live: Live, wanted: Wanted) -> Closed:
        """The best hypotheses with one more unit, and Y ← Y ∩ Φ(t)."""
        kept = self._next_units(frontier, live, wanted)
        unit = self._constraint.units(frontier, kept.cursor)
        after = self._constraint.close(frontier, kept.cursor)
        found, valid = self._constraint.completed(after), self._constraint.valid(after)
        if self._stops:
            found = self._with_decided(after, found, valid)
        return Closed(kept, unit, after, found, valid)

    def _with_decided(self, frontier: Any, completed: Ragged, valid: Int) -> Ragged:
        """Count the only document left as found: because the search stops there, or because p of
        all its ways to go on sums to 1."""
        rows = np.flatnonzero((valid == 1) & (np.diff(completed.offsets) == 0))
        documents = self._constraint.decided(frontier, rows)
        values = np.insert(completed.values, completed.offsets[rows], documents)
        more = np.searchsorted(rows, np.arange(len(completed.offsets)))
        return Ragged(completed.offsets + more, values.astype(np.int32))

    def _next_units(self, frontier: Any, live: Live, wanted: Wanted) -> Candidates:
        """X × V: the best hypotheses with one more unit, best first.

        Partial spellings grow token by token until none of them can come among the best.
        """
        cursor = self._constraint.cursor(frontier, live.row)
        partial = Candidates.unspelled(live.query, cursor, live.score, live.node)
        finished, hidden = partial.take(np.zeros(0, dtype=np.int64)), live.hidden
        floor = self._bars() if wanted.bounded else np.full_like(self._bars(), -np.inf)
        same = self._same_states(frontier, live)
        while True:
            closed, partial = expand(
                self._constraint, self._scorer, frontier, partial, hidden, floor, wanted, same
            )
            same = None
            finished = Candidates.join([finished, closed])
            kept = compete(self._constraint, frontier, finished, wanted)
            floor = np.maximum(floor, _bar(kept, wanted, len(floor)))
            partial = partial.take(partial.score >= floor[partial.query])
            if not len(partial):
                return kept.take(rank_within(kept.query) < wanted.sets)
            node, hidden = self._step(partial)
            partial = replace(partial, node=node)

    def _same_states(self, frontier: Any, live: Live) -> Int | None:
        """[R] the first hypothesis of the same query with the same set, where the model's state
        depends on nothing else; None where it does."""
        if not (isinstance(frontier, SetFrontier) and self._backbone.order_free):
            return None
        keys = frontier.keys[frontier.set_of[live.row]]
        return first_equal(keys + member_keys(live.query + _QUERIES))

    def _choose(
        self, live: Live, closed: Closed, wanted: Wanted, look_ahead: LookAhead | None
    ) -> Chosen:
        """Complete documents leave, the B best hypotheses with others go on."""
        kept = closed.kept
        self._trail.add(
            Backpointers(live.row[kept.origin], closed.unit, kept.log_prob, closed.valid)
        )
        order, query, value = np.arange(len(kept)), kept.query, kept.score
        if wanted.per_document:
            document = self._constraint.decided(closed.frontier, order)
        if self._apart:
            query = query % self._queries + self._queries * (document >= 0)
        if look_ahead is not None:
            value = value + look_ahead(closed.frontier, query % self._queries)
        if self._apart or look_ahead is not None:
            order = np.lexsort((-value, query))
        if wanted.per_document:
            order = order[uncrowded(query[order], document[order], wanted.per_document)]
        query, score = query[order], kept.score[order]
        alive = np.flatnonzero(closed.alive[order])
        alive = alive[rank_within(query[alive]) < self._config.beam]
        counted = (rank_within(query) < self._config.beam) | self._sums
        counted[alive] = True
        rows, of = order[counted], query[counted] % self._queries
        self._hits.add(of, score[counted], rows, closed.found.take(rows), wanted.step)
        may_rank = self._may_rank(query[alive], score[alive], wanted)
        on, outranked = alive[may_rank], alive[~may_rank]
        return Chosen(rows, order[on], order[outranked], query[on])

    def _shown(
        self,
        frontier: Any,
        live: Live,
        wanted: Wanted,
        closed: Closed,
        chosen: Chosen,
        pool: Ragged | None,
    ) -> Step:
        """This step, for the observer."""

        def widened(more: int) -> Candidates:
            wider = replace(wanted, sets=wanted.sets + more, bounded=False)
            return self._next_units(frontier, live, wider)

        bar, scorer = self._bars(), self._scorer
        return Step(frontier, live, wanted, closed, chosen, bar, pool, scorer, self._step, widened)

    def _may_rank(self, query: Int, score: Float, wanted: Wanted) -> Bool:
        """[R] whether a document that a hypothesis leads to may still come among the best k."""
        reach, bars = score, self._bars()
        if not self._config.early_stop:
            return np.ones(len(query), dtype=np.bool_)
        if not wanted.bounded:  # then only all hypotheses of a query together bound its documents
            total = np.full(len(bars), -np.inf)
            np.logaddexp.at(total, query, score)
            reach = total[query]
        return reach >= bars[query]

    def _bars(self) -> Float:
        """The k-th best score found so far of each query, and once more for second beams."""
        bars = self._hits.bar()
        return np.concatenate((bars, bars)) if self._apart else bars

    def _continue(self, chosen: Candidates, rows: Int) -> Live:
        """Let the model read the chosen hypotheses' last tokens."""
        if not len(chosen):
            return Live(chosen.query, chosen.score, rows, chosen.node, chosen.node)
        node, hidden = self._step(chosen)
        if self._new_nodes > FORGET_AT * len(chosen):
            node = self._backbone.keep(self._cache, node)
            self._new_nodes = 0
        return Live(chosen.query, chosen.score, rows, node, hidden)

    def _step(self, candidates: Candidates) -> tuple[torch.Tensor, torch.Tensor]:
        unread, device = candidates.unread, candidates.node.device
        spelled = spans(self._constraint.spelled, candidates.place, unread).values
        self._new_nodes += len(spelled)
        tokens = torch.from_numpy(spelled.astype(np.int64)).to(device)
        lengths = torch.from_numpy(unread).to(device) if len(spelled) > len(unread) else None
        return self._backbone.step(self._cache, candidates.node, tokens, lengths)


def _bar(kept: Candidates, wanted: Wanted, queries: int) -> Float:
    """[Q] the score of the last set that is wanted; −∞ where there are fewer, and where paths are
    added up, because a partial spelling may still add to any set."""
    bars = np.full(queries, -np.inf)
    if wanted.merge != "sum":
        last = rank_within(kept.query) == wanted.sets - 1
        bars[kept.query[last]] = kept.score[last]
    return bars
