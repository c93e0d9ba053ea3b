"""Hard negatives: documents that BM25 ranks high for a query and that do not answer it."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from tsgen.queries.lexical import LexicalIndex


def hard_negatives(
    index: LexicalIndex,
    queries: Sequence[str],
    relevant: Sequence[Collection[int]],
    count: int,
    seed: int,
) -> NDArray[np.int64]:
    """[Q, count] positions of the best-ranked documents outside `relevant`, best first.

    Where BM25 finds fewer, random other documents fill the row.
    """
    most = max((len(documents) for documents in relevant), default=0)
    found, _ = index.top_k(queries, count + most)
    rng = np.random.default_rng(seed)
    rows = [
        without_answers([int(d) for d in ranked if d >= 0], right, count, index.size, rng)
        for ranked, right in zip(found, relevant, strict=True)
    ]
    return np.asarray(rows, np.int64).reshape(len(queries), count)


def without_answers(
    ranked: Sequence[int], right: Collection[int], count: int, size: int, rng: np.random.Generator
) -> list[int]:
    """The first `count` documents of a ranking that are not right; random others of the `size`
    there are where it has fewer."""
    row = [document for document in ranked if document not in right][:count]
    while len(row) < count:
        other = int(rng.integers(size))
        if size < count + len(right) or (other not in right and other not in row):
            row.append(other)
    return row
