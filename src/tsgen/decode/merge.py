"""Equal sets reached in different orders: one hypothesis, or several as in the paper's text."""

import numpy as np

from tsgen.constrain.constraint import Bool, Int
from tsgen.constrain.keys import Keys, first_equal, member_keys
from tsgen.decode.candidates import Candidates, rank_within
from tsgen.decode.select import Float

_QUERIES = 2**40  # queries take part in keys as members beyond all terms


def merge(candidates: Candidates, keys: Keys, how: str) -> Candidates:
    """The candidates that stay, by query, best first.

    They come best first, so the first of each set is its best: with `max` the others go, with `sum`
    their probabilities are added to it, with `none` all stay.
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
    """[C] whether fewer than `most` rows before have the same query and document; document -1 is
    none. `query` is ascending."""
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
