"""V, the terms that may come next: all terms of the documents in Y but those generated already.

Algorithm 1, "update the valid decoding space": V ← ∪ {T(D) : D ∈ Y} \\ X, as ascending ranks. A few
terms are sorted as they come; many are marked in a bitmap with a second bitmap over its words, so
that reading them back in order touches only the words that were marked.
"""

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.bits import lowest_one
from tsgen.constrain.constraint import Bool, Int, Int32
from tsgen.constrain.documents import Documents, Index, valid_documents
from tsgen.constrain.kernel import kernel

Words = NDArray[np.uint64]

FEW = 48


@kernel
def valid_terms(
    index: Index,
    documents: Documents,
    wanted: Bool,
    offsets: Int,
    terms: Int32,
    rank_of: Int32,
    most: int,
) -> tuple[Int, Int, Int32]:
    """V of every `wanted` set as a slice low:high of the returned list of ranks.

    `offsets` and `terms` are the documents' term sets as CSR, none larger than `most`.
    """
    size = len(wanted)
    low, high = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    room = 0
    for i in range(size):
        if wanted[i]:
            room += min(documents.sizes[i] * most, len(rank_of))
    ranks = np.empty(room, dtype=np.int32)
    marks = np.zeros((len(rank_of) + 63) >> 6, dtype=np.uint64)
    marked = np.zeros((len(marks) + 63) >> 6, dtype=np.uint64)
    end = int(np.int64(0))  # a typed zero: callees compile once
    for i in range(size):
        low[i] = end
        if wanted[i]:
            valid = valid_documents(index, documents, i)
            if len(valid) * most <= FEW:
                end = _sorted(valid, documents.terms[i], offsets, terms, rank_of, ranks, end)
            else:
                for document in valid:
                    for j in range(offsets[document], offsets[document + 1]):
                        _mark(marks, marked, rank_of[terms[j]])
                for member in documents.terms[i]:
                    rank = rank_of[member]
                    marks[rank >> 6] &= ~(np.uint64(1) << np.uint64(rank & 63))
                end = _read_back(marks, marked, ranks, end)
        high[i] = end
    return low, high, ranks[:end]


@kernel
def _sorted(
    valid: Int32,
    members: Int32,
    offsets: Int,
    terms: Int32,
    rank_of: Int32,
    out: Int32,
    start: int,
) -> int:
    """Insert the ranks of all terms but the members into `out` in order, each once; the new end."""
    end = start
    for document in valid:
        for j in range(offsets[document], offsets[document + 1]):
            term = terms[j]
            known = False
            for member in members:
                known |= member == term
            if known:
                continue
            rank = rank_of[term]
            place = end
            while place > start and out[place - 1] > rank:
                place -= 1
            if place > start and out[place - 1] == rank:
                continue
            for k in range(end, place, -1):
                out[k] = out[k - 1]
            out[place] = rank
            end += 1
    return end


@kernel
def _mark(marks: Words, marked: Words, rank: int) -> None:
    word = rank >> 6
    marks[word] |= np.uint64(1) << np.uint64(rank & 63)
    marked[word >> 6] |= np.uint64(1) << np.uint64(word & 63)


@kernel
def _read_back(marks: Words, marked: Words, out: Int32, end: int) -> int:
    """Append the marked ranks in order, and clear all marks; the new end."""
    for block in range(len(marked)):
        blocks = marked[block]
        marked[block] = 0
        while blocks:
            word = 64 * block + lowest_one(blocks)
            blocks &= blocks - np.uint64(1)
            bits = marks[word]
            marks[word] = 0
            while bits:
                out[end] = 64 * word + lowest_one(bits)
                end += 1
                bits &= bits - np.uint64(1)
    return end
