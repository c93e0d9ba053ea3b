"""Documents that compete with those of a batch, and what is valid after each prefix among them.

In a search p is normalised over what is valid, the terms of all documents that have the terms so
far. Of a large corpus a training step knows a sample: some documents at random, which compete for
the first term, some that share a target's first terms, which compete for the next, and some that
BM25 mistakes for the answer, which share the query's words.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.constrain.constraint import Bool, Int, Ragged
from tsgen.docids.term_set import TermSets


@dataclass(frozen=True, slots=True)
class Competitors:
    """Draws documents of a corpus: so many at random, and so many near each target."""

    sets: TermSets
    others: int
    near: int

    def draw(self, targets: Int, hard: Int, rng: np.random.Generator) -> Int:
        """Documents for a batch with `targets` [B, T], ascending; `hard` [B, H] are among them."""
        documents = [rng.integers(len(self.sets), size=self.others), hard.ravel()]
        documents += [self._near(target, rng) for target in targets] if self.near else []
        return np.unique(np.concatenate(documents))

    def terms(self, documents: Int) -> Ragged:
        """The term sets of some documents."""
        every = Ragged(self.sets.doc_offsets.astype(np.int64), self.sets.doc_terms)
        return every.take(documents)

    def _near(self, target: Int, rng: np.random.Generator) -> Int:
        """Documents with the target's first term, half of them with its second, too, if any are."""
        first = self.sets.postings(int(target[0]))
        both = np.intersect1d(first, self.sets.postings(int(target[:2][-1])), assume_unique=True)
        half = self.near // 2
        drawn = rng.choice(first, self.near - half), rng.choice(both if len(both) else first, half)
        return np.concatenate(drawn).astype(np.int64)


def valid_after(columns: Int, mask: Bool, competitors: Ragged, symbols: int, first: int) -> Bool:
    """[B, K, S] which of the symbols are valid after the first k terms of each target: the terms of
    a target or competitor that has those k, without them.

    `columns` [B, T], where `mask`, are the targets' terms as columns 0..S−1 of the scores; the
    values of `competitors` are columns, too. All terms of a target are in it, K ≤ T count.
    """
    has = _incidence(columns, mask, competitors, symbols)  # [P, S]
    alive = np.ones((len(columns), first, len(has)), dtype=np.float32)  # [B, K, P]
    for k in range(1, first):
        alive[:, k] = alive[:, k - 1] * has.T[columns[:, k - 1]]
    counts = torch.from_numpy(alive.reshape(-1, len(has))) @ torch.from_numpy(has)
    valid = counts.view(len(columns), first, symbols).numpy() > 0
    valid[:, 0] = True
    for k in range(1, first):
        np.put_along_axis(valid[:, k:], columns[:, None, k - 1 : k], False, axis=2)
    return valid


def _incidence(columns: Int, mask: Bool, competitors: Ragged, symbols: int) -> NDArray[np.float32]:
    """[P, S] which document, first the targets' own, has which symbol."""
    own = len(columns)
    has = np.zeros((own + len(competitors.offsets) - 1, symbols), dtype=np.float32)
    rows, _ = np.nonzero(mask)
    has[rows, columns[mask]] = 1
    lengths = np.diff(competitors.offsets)
    has[own + np.repeat(np.arange(len(lengths)), lengths), competitors.values] = 1
    return has
