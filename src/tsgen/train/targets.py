"""What the decoder is to write for a pair: the tokens of T(D)'s terms, in some order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int, Int32, Ragged
from tsgen.docids.spelling import Spelling
from tsgen.docids.term_set import TermSets
from tsgen.terms.arrays import offsets_of
from tsgen.train.reorder import Reorder


def weight_order(sets: TermSets, documents: Sequence[int] | Int) -> Ragged:
    """Each document's terms, heaviest first."""
    every = Ragged(sets.doc_offsets.astype(np.int64), sets.doc_terms)
    return every.take(np.asarray(documents, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Targets:
    """The terms of every pair's document in the order to learn, and how terms are spelled."""

    spelling: Spelling
    orders: Ragged  # [P] terms
    reorder: Reorder | None = None  # instead of that order another each time

    def lengths(self) -> Int:
        """[P] tokens of each target; no order changes them."""
        of_term = np.diff(self.spelling.offsets)[self.spelling.rank_of]
        ends = offsets_of(of_term[self.orders.values])
        return np.diff(ends[self.orders.offsets])

    def batch(
        self, rows: Int, queries: Sequence[str], rng: np.random.Generator
    ) -> tuple[Int, NDArray[np.bool_]]:
        """The tokens [B, T] of some pairs with their queries, and where they are not padding
        [B, T]."""
        orders = [self.orders.row(row) for row in rows]
        if self.reorder is not None:
            asked = zip(orders, queries, strict=True)
            orders = [self.reorder(order, query, rng) for order, query in asked]
        return padded([self.spelling.sequence(order) for order in orders])


def padded(sequences: Sequence[Int32]) -> tuple[Int, NDArray[np.bool_]]:
    """Sequences one below the other, filled up at their ends with their own first tokens (any
    valid token will do), and where they are themselves."""
    lengths = np.array([len(sequence) for sequence in sequences])
    places = np.arange(lengths.max(initial=0))
    tokens = np.stack([np.resize(sequence, len(places)) for sequence in sequences])
    return tokens.astype(np.int64), places < lengths[:, None]


def batches(lengths: Int, size: int, rng: np.random.Generator) -> list[Int]:
    """All rows in random batches of `size`, those of similar length together: rows are shuffled,
    sorted by length within a stretch of many batches, cut, and the batches are shuffled."""
    rows, stretch = rng.permutation(len(lengths)), size * 64
    cut: list[Int] = []
    for start in range(0, len(rows), stretch):
        together = rows[start : start + stretch]
        together = together[np.argsort(lengths[together], kind="stable")]
        cut += [together[at : at + size] for at in range(0, len(together), size)]
    return [cut[i] for i in rng.permutation(len(cut))]
