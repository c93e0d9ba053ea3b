"""What given terms would score after given hypotheses, whether or not the search looked at them."""

from dataclasses import replace

import numpy as np
import torch

from tsgen.constrain.constraint import Allowed, Int
from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.candidates import Candidates
from tsgen.decode.moment import Moment
from tsgen.decode.select import Float


def follow(
    constraint: PostingsConstraint, moment: Moment, origin: Int, terms: Int
) -> tuple[Candidates, int]:
    """Live hypothesis `origin[i]` with `terms[i]` added, best first, and the number of tokens that
    the longest was spelled with one after the other. Each term must be valid there. log p is that
    of the search: the same scorer over the same valid tokens."""
    live = moment.live
    begun = Candidates.unspelled(
        live.query, constraint.cursor(moment.frontier, live.row), live.score, live.node
    )
    partial, hidden = begun.take(origin), live.hidden[torch.from_numpy(origin)]
    closed: list[Candidates] = []
    while len(partial):
        allowed = constraint.allowed(moment.frontier, partial.cursor)
        partial = _next_token(constraint, moment, partial, hidden, terms, allowed)
        done = (
            partial.cursor.depth == np.diff(constraint.spelling.offsets)[_ranks(constraint, terms)]
        )
        closed.append(partial.take(done))
        partial, terms = partial.take(~done), terms[~done]
        if len(partial):
            node, hidden = moment.read(partial)
            partial = replace(partial, node=node)
    return Candidates.join(closed), len(closed)


def _next_token(
    constraint: PostingsConstraint,
    moment: Moment,
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
    first = np.searchsorted(partial.query, np.arange(len(moment.bar) + 1))
    for block in moment.scorer.blocks(hidden, allowed, first):
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
