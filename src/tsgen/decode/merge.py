"""Equal sets reached in different orders: one hypothesis, or several as in the paper's text."""

import numpy as np

from tsgen.constrain.constraint import Int
from tsgen.constrain.keys import Keys, first_equal, member_keys
from tsgen.decode.candidates import Candidates
from tsgen.decode.select import Float

_QUERIES = 2**40  # queries take part in keys as members beyond all terms


def first_of_set(query: Int, keys: Keys) -> Int:
    """[C] the first candidate of the same query with the same set."""
    return first_equal(keys + member_keys(query + _QUERIES))


def merge(candidates: Candidates, keys: Keys, how: str) -> Candidates:
    """The candidates that stay, by query, best first.

    They come best first, so the first of each set is its best: with `max` the others go, with `sum`
    their probabilities are added to it, with `none` all stay.
    """
    if how == "none":
        return candidates
    leader = first_of_set(candidates.query, keys)
    if how == "sum":
        candidates = candidates.scored(_summed(candidates.score, leader))
    candidates = candidates.take(leader == np.arange(len(leader)))
    if how == "sum":  # adding up may have changed the order
        candidates = candidates.take(np.lexsort((-candidates.score, candidates.query)))
    return candidates


def _summed(score: Float, leader: Int) -> Float:
    """[C] log Σ exp over all candidates with the same leader, given at the leader."""
    with np.errstate(invalid="ignore"):
        share = np.where(score == score[leader], 1.0, np.exp(score - score[leader]))
    total: Float = score + np.log(np.maximum(np.bincount(leader, share, len(score)), 1.0))
    return total


def sets_per_query(query: Int, keys: Keys | None, queries: int) -> Int:
    """[Q] the number of candidates, or with `keys` of different sets among them."""
    if keys is not None:
        leader = first_of_set(query, keys)
        query = query[leader == np.arange(len(leader))]
    return np.bincount(query, minlength=queries)
