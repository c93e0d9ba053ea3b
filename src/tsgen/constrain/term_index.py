"""What a search over term sets starts from: postings, their bitmaps, the first valid documents."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.bits import make_bitmaps
from tsgen.constrain.constraint import Ragged
from tsgen.constrain.documents import BITMAPS, LISTED, Documents, Index
from tsgen.constrain.kernel import fixed

HEAVY_SHARE = 128  # a bitmap is then 4 times as long as the list of documents, at the most
HEAVY_AT_LEAST = 1024


class TermSetArrays(Protocol):
    """T(D) for every document and Φ(t) for every term, as CSR arrays (memory-mapped or not)."""

    @property
    def doc_offsets(self) -> NDArray[np.integer]:
        """[D + 1]."""
        ...

    @property
    def doc_terms(self) -> NDArray[np.integer]:
        """The terms of each document."""
        ...

    @property
    def post_offsets(self) -> NDArray[np.integer]:
        """[T + 1]."""
        ...

    @property
    def post_docs(self) -> NDArray[np.integer]:
        """The documents of each term, ascending."""
        ...


def make_index(sets: TermSetArrays, heavy: int | None = None) -> Index:
    """Φ with bitmaps for the terms in more than `heavy` documents, by default 1 in 128."""
    documents = len(sets.doc_offsets) - 1
    if heavy is None:
        heavy = max(HEAVY_AT_LEAST, documents // HEAVY_SHARE)
    heavy = max(heavy, 1)
    offsets, docs = fixed(sets.post_offsets, np.int64), fixed(sets.post_docs, np.int32)
    heavy_terms = np.flatnonzero(np.diff(offsets) > heavy).astype(np.int32)
    bitmap_of = np.full(len(offsets) - 1, -1, dtype=np.int32)
    bitmap_of[heavy_terms] = np.arange(len(heavy_terms), dtype=np.int32)
    bitmaps = make_bitmaps(offsets, docs, heavy_terms, documents)
    return Index(offsets, docs, fixed(bitmap_of, np.int32), fixed(bitmaps, np.uint64), heavy)


def every_document(count: int) -> Documents:
    """The empty set, held by all documents: a conjunction of no bitmaps."""
    zero = np.zeros(1, dtype=np.int64)
    none = np.zeros((1, 0), dtype=np.int32)
    form = np.full(1, BITMAPS, dtype=np.int8)
    return Documents(none, form, zero, zero, zero + count, fixed(none[0], np.int32))


def these_documents(pool: Ragged) -> Documents:
    """The empty set, held by each row's own documents."""
    low, high = pool.offsets[:-1].copy(), pool.offsets[1:].copy()
    none = np.zeros((len(low), 0), dtype=np.int32)
    form = np.full(len(low), LISTED, dtype=np.int8)
    return Documents(none, form, low, high, high - low, fixed(pool.values, np.int32))
