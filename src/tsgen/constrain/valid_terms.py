"""V, the terms that may come next: all terms of the documents in Y but those generated already.

Algorithm 1, "update the valid decoding space": V ← ∪ {T(D) : D ∈ Y} \\ X, as ascending ranks. A few
terms are sorted as they come; many are marked in a table of bytes, with a second table over blocks
of 64, so that reading them back in order touches only the blocks that were marked. Bytes, because
setting a bit would have to wait for the one set before it.
"""

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.bits import lowest_one
from tsgen.constrain.constraint import Bool, Int, Int32
from tsgen.constrain.documents import Documents, Index, valid_documents
from tsgen.constrain.kernel import kernel

Marks = NDArray[np.uint8]

FEW = 48


@kernel
def valid_terms(
    index: Index,
    documents: Documents,
    wanted: Bool,
    offsets: Int,
    terms: Int32,
    rank_of: Int32,
    ranked: bool,
    most: int,
) -> tuple[Int, Int, Int32]:
    """V of every `wanted` set as a slice low:high of the returned list of ranks.

    Where `ranked`, terms are numbered by rank and `rank_of` need not be looked at, which takes half
    of the time.

    `offsets` and `terms` are the documents' sets as CSR, none larger than `most`.
    """
    size = len(wanted)
    low, high = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    room = 0
    for i in range(size):
        if wanted[i]:
            room += min(documents.sizes[i] * most, len(rank_of))
    ranks = np.empty(room, dtype=np.int32)
    blocks = np.zeros((len(rank_of) + 63) >> 6, dtype=np.uint8)
    marks = np.zeros(64 * len(blocks), dtype=np.uint8)
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
                        rank = terms[j] if ranked else rank_of[terms[j]]
                        marks[rank] = 1
                        blocks[rank >> 6] = 1
                for member in documents.terms[i]:
                    marks[rank_of[member]] = 0
                end = _read_back(marks, blocks, ranks, end)
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
def _read_back(marks: Marks, blocks: Marks, out: Int32, end: int) -> int:
    """Append the marked ranks in order, and clear all marks; the new end."""
    words = marks.view(np.uint64)
    for block in range(len(blocks)):
        if blocks[block]:
            blocks[block] = 0
            for word in range(8 * block, 8 * block + 8):
                ones = words[word]
                words[word] = 0
                while ones:
                    out[end] = 8 * word + (lowest_one(ones) >> 3)
                    end += 1
                    ones &= ones - np.uint64(1)
    return end
