"""Term sets of any size without a corpus: N distinct terms a document, drawn by Zipf's law.

The r-th most frequent of 32,000 terms is drawn with probability ∝ 1 / (r + 10). It then occurs in
about 14 % of the documents for r = 1, which is heavier than in real sets (6 % on wikipages-110k),
so the longest postings are longer than any a corpus of that size would have.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from tsgen.docids.term_set import invert

TERMS = 32_000
OFFSET = 10
CHUNK = 250_000


@dataclass(frozen=True)
class ZipfSets:
    """Memory-mapped T(D) and Φ(t), as the constraint wants them."""

    doc_offsets: NDArray[np.int64]
    doc_terms: NDArray[np.int32]
    post_offsets: NDArray[np.int64]
    post_docs: NDArray[np.int32]

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.doc_offsets) - 1

    def terms(self, document: int) -> NDArray[np.int32]:
        """T(D)."""
        return self.doc_terms[self.doc_offsets[document] : self.doc_offsets[document + 1]]

    @property
    def nbytes(self) -> int:
        """The size of all arrays on disk."""
        return sum(array.nbytes for array in vars(self).values())


def zipf_sets(cache: Path, documents: int, n: int, seed: int = 0) -> ZipfSets:
    """Open the sets of this size, after writing them if they are not there."""
    folder = cache / f"zipf-{documents}x{n}-{seed}"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder, documents, n, seed)
        (folder / "done").touch()
    names = ("doc_offsets", "doc_terms", "post_offsets", "post_docs")
    return ZipfSets(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in names))


def _write(folder: Path, documents: int, n: int, seed: int) -> None:
    """Draw in chunks and invert by counting, both straight into the files."""
    chances = np.cumsum(1 / (np.arange(TERMS) + 1 + OFFSET))
    chances /= chances[-1]
    rng = np.random.default_rng(seed)
    doc_terms = open_memmap(folder / "doc_terms.npy", "w+", np.int32, (documents * n,))
    counts = np.zeros(TERMS, np.int64)
    for first in range(0, documents, CHUNK):
        rows = min(CHUNK, documents - first)
        drawn = _draw(rng.random((rows, 4 * n)), chances, n)
        doc_terms[first * n : (first + rows) * n] = drawn.ravel()
        counts += np.bincount(drawn.ravel(), minlength=TERMS)
    doc_offsets = np.arange(documents + 1, dtype=np.int64) * n
    post_offsets = np.concatenate(([0], np.cumsum(counts)))
    np.save(folder / "doc_offsets.npy", doc_offsets)
    np.save(folder / "post_offsets.npy", post_offsets)
    np.save(folder / "post_docs.npy", invert(doc_offsets, np.asarray(doc_terms), post_offsets))


@njit(cache=True)
def _draw(luck: NDArray[np.float64], chances: NDArray[np.float64], n: int) -> NDArray[np.int32]:
    """The first n distinct terms that each row's luck falls on; then the next free ones."""
    rows = np.empty((len(luck), n), np.int32)
    for r in range(len(luck)):
        held = 0
        for attempt in range(luck.shape[1] + n):
            spare = attempt - luck.shape[1]
            term = np.searchsorted(chances, luck[r, attempt]) if spare < 0 else spare
            known = False
            for j in range(held):
                known |= rows[r, j] == term
            if not known:
                rows[r, held] = term
                held += 1
            if held == n:
                break
    return rows
