"""M@10, the mean reciprocal rank within the first ten hits, by which training and tuning choose.

    M@10 = mean over queries of 1 / rank of the first relevant document, 0 where that rank is > 10.

The figures of tables are those of ir-measures (`tsgen.evaluate.metrics`); a test compares the two.
"""

from collections.abc import Container, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

DEPTH = 10

T = TypeVar("T")


def reciprocal_ranks(ranks: ArrayLike) -> NDArray[np.float64]:
    """1 / rank for ranks from 1 on, 0 for those beyond the first ten; of the same shape."""
    ranks = np.asarray(ranks, np.float64)
    return np.where(ranks <= DEPTH, 1 / ranks, 0.0)


def mean_reciprocal_rank(
    rankings: Iterable[Iterable[T]], relevant: Sequence[Container[T]]
) -> float:
    """M@10 of one ranking for each query; 0.0 without queries.

    Args:
        rankings: The documents found for each query, best first.
        relevant: The relevant documents of each query, in the same order.
    """
    ranks = [_first_rank(*each) for each in zip(rankings, relevant, strict=True)]
    return float(reciprocal_ranks(ranks).mean()) if ranks else 0.0


def _first_rank(documents: Iterable[T], relevant: Container[T]) -> float:
    """The rank of the first relevant document, infinite where there is none."""
    ranks = (rank for rank, document in enumerate(documents, 1) if document in relevant)
    return next(ranks, float("inf"))
