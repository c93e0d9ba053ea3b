"""What was found, in a better order: how much does each document mean what the query is after?

A set does not say which of its terms matter most: after `vietnam` alone, the page on Vietnam and
that on a cinnamon from there are equally good. The weights that chose the terms do say it. So

    score(D) = log p(D | Q) + λ log Σ_{t ∈ T(D)} ŵ_D(t) p(t | Q)^{1/u},

where ŵ_D are the document's weights with sum 1 (equal ones, if none were kept), p(t | Q) is that of
the first step, and u flattens it, so that a second and a third word of the query count, too. What
the query's own words say (see `overlap`) may be added.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.found import Found

DEPTH = 100  # documents that are ordered anew, at least
FLATTENED = 4.0  # u


def rescore(
    found: Sequence[Found],
    log_probs: NDArray[np.float32],
    constraint: PostingsConstraint,
    weight: float,
    added: NDArray[np.float32] | None = None,
) -> list[Found]:
    """The documents of one query with their new scores, best first; ties by document order.

    `log_probs` [T] are log p(t | Q) of all terms; `weight` is λ; `added` [C] is for all documents.
    """

    def more(document: int) -> float:
        meant = weight * _meant(document, log_probs, constraint) if weight else 0.0
        return meant if added is None else meant + float(added[document])

    scored = [replace(one, score=one.score + more(one.document)) for one in found]
    return sorted(scored, key=lambda one: (-one.score, one.document))


def _meant(document: int, log_probs: NDArray[np.float32], constraint: PostingsConstraint) -> float:
    """log Σ ŵ_D(t) p(t | Q)^{1/u}."""
    sets = constraint.term_sets
    span = slice(*sets.offsets[document : document + 2])
    flat = log_probs[sets.values[span]].astype(np.float64) / FLATTENED
    return float(np.log(constraint.shares[span] @ np.exp(flat - flat.max())) + flat.max())
