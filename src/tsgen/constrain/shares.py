"""The weights of a document's terms as shares of the whole."""

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int, Int32
from tsgen.constrain.kernel import kernel

Float32 = NDArray[np.float32]


def shares_of(offsets: Int, weights: NDArray[np.floating] | None) -> Float32:
    """[E] the weights of documents, one after the other as `offsets` [D + 1] say, each document's
    with sum 1; equal ones where none were kept."""
    sizes = np.diff(offsets)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    kept = np.zeros(len(owner)) if weights is None else weights
    sums = np.bincount(owner, kept, len(sizes))
    none = sums == 0
    kept = np.where(none[owner], 1.0, kept)
    shares: Float32 = (kept / np.where(none, sizes, sums)[owner]).astype(np.float32)
    return shares


@kernel
def by_term(terms: Int32, values: Float32, post_offsets: Int) -> Float32:
    """[E] values beside the terms of all documents, put beside the documents of all terms."""
    found = np.empty(len(values), np.float32)
    place = post_offsets.copy()
    for entry in range(len(terms)):
        found[place[terms[entry]]] = values[entry]
        place[terms[entry]] += 1
    return found
