r"""Kernels of term sets: Y, the valid documents, and V, the terms that may come next.

V has all terms of the documents in Y but those generated already.

Algorithm 1, "update the valid decoding space": V ← ∪ {T(D) : D ∈ Y} \ X, as ascending ranks. A few
terms are sorted as they come; many are marked in a table of bytes, with a second table over blocks
of 64, so that reading them back in order touches only the blocks that were marked. Bytes, because
setting a bit would have to wait for the one set before it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Bool, Int, Int32
from tsgen.constrain.kernels import kernel

# Bitmaps of the documents that hold a heavy term: a membership test costs one read, the common
# documents of two heavy terms cost a pass over words instead of a merge of long lists.

Bitmaps = NDArray[np.uint64]  # [H, words]


@kernel
def popcount(word: np.uint64) -> int:
    """The number of ones in a word."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def lowest_one(word: np.uint64) -> int:
    """The position of the lowest one in a word that is not zero."""
    return popcount((word & (~word + np.uint64(1))) - np.uint64(1))


@kernel
def has_bit(row: NDArray[np.uint64], position: int) -> bool:
    """Whether the bit at a position of a bitmap [words] is set."""
    return bool((row[position >> 6] >> np.uint64(position & 63)) & np.uint64(1))


@kernel
def count_ones(bits: NDArray[np.uint64]) -> int:
    """The number of ones in a bitmap."""
    total = 0
    for word in bits:
        total += popcount(word)
    return total


@kernel
def list_ones(bits: NDArray[np.uint64], out: Int32, end: int) -> int:
    """Write the positions of the ones to `out` from `end` on; the new end."""
    for word in range(len(bits)):
        rest = bits[word]
        while rest:
            out[end] = 64 * word + lowest_one(rest)
            end += 1
            rest &= rest - np.uint64(1)
    return end


@kernel
def make_bitmaps(offsets: Int, values: Int32, rows: Int32, size: int) -> Bitmaps:
    """One bitmap of `size` bits for each of some rows of a CSR table."""
    bitmaps = np.zeros((len(rows), (size + 63) >> 6), dtype=np.uint64)
    for i in range(len(rows)):
        for j in range(offsets[rows[i]], offsets[rows[i] + 1]):
            bitmaps[i, values[j] >> 6] |= np.uint64(1) << np.uint64(values[j] & 63)
    return bitmaps


# Common numbers of two ascending lists: a merge without branches, or a search from the shorter.

SEARCH = 16  # how many times longer a list must be before searching beats merging


@kernel
def intersect(a: Int32, b: Int32, out: Int32, end: int) -> int:
    """Append the numbers that are in both lists to `out` from `end` on; the new end."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    if len(long) > SEARCH * len(short):
        place = int(np.int64(0))  # a typed zero: callees compile once
        for number in short:
            place = search(long, number, place)
            if place == len(long):
                break
            out[end] = number
            end += long[place] == number
        return end
    i = j = 0
    while i < len(short) and j < len(long):
        x, y = short[i], long[j]
        out[end] = x
        end += x == y
        i += x <= y
        j += y <= x
    return end


@kernel
def intersects(a: Int32, b: Int32) -> bool:
    """Whether any number is in both lists."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    place = int(np.int64(0))  # a typed zero: callees compile once
    for number in short:
        place = search(long, number, place)
        if place == len(long):
            return False
        if long[place] == number:
            return True
    return False


@kernel
def search(numbers: Int32, wanted: int, start: int) -> int:
    """The first place from `start` on with a number ≥ `wanted`: doubling steps, then halving."""
    step, low, high = 1, start, start
    while high < len(numbers) and numbers[high] < wanted:
        low = high + 1
        high += step
        step *= 2
    high = min(high, len(numbers))
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


# Y, the documents that hold all terms generated so far, narrowed by one more term.
#
# Algorithm 1, "narrow down the valid documents": Y ← Y ∩ Φ(t). A row's Y is kept in the cheapest of
# three forms: where its terms are all heavy and their common documents many, it is not written down
# at all, because the terms' bitmaps answer for it; after a single light term it is that term's
# postings; else it is a list of its own.

BITMAPS, POSTINGS, LISTED = 0, 1, 2  # the forms


class Index(NamedTuple):
    """Φ: the documents of each term, ascending; and bitmaps for terms with more than `limit`."""

    offsets: Int  # [T + 1]
    documents: Int32
    heavy: Int32  # [T] the term's bitmap, or -1
    bitmaps: Bitmaps
    limit: int


class Documents(NamedTuple):
    """Y of several sets of n terms."""

    terms: Int32  # [S, n] the terms of each set
    form: NDArray[np.int8]  # [S]
    low: Int  # [S] where Y begins in the postings or in `listed`
    high: Int  # [S]
    sizes: Int  # [S] |Y|
    listed: Int32


@kernel
def narrow(
    index: Index, documents: Documents, parents: Int, terms: Int32, one_document: bool
) -> Documents:
    """Y ∩ Φ(t) for each new set: set `parents[i]` with `terms[i]` added."""
    size, held = len(parents), documents.terms.shape[1]
    members = np.empty((size, held + 1), dtype=np.int32)
    form = np.empty(size, dtype=np.int8)
    low, high = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    sizes = np.zeros(size, dtype=np.int64)
    listed = np.empty(_room(index, documents, parents, terms), dtype=np.int32)
    end = int(np.int64(0))  # a typed zero: callees compile once
    for i in range(size):
        parent, term = parents[i], terms[i]
        for j in range(held):
            members[i, j] = documents.terms[parent, j]
        members[i, held] = term
        first, last = index.offsets[term], index.offsets[term + 1]
        form[i], low[i] = LISTED, end
        if documents.form[parent] == BITMAPS and held == 0:
            heavy = last - first > index.limit
            form[i], low[i], high[i] = BITMAPS if heavy else POSTINGS, first, last
            sizes[i] = last - first
            continue
        if documents.form[parent] == BITMAPS and index.heavy[term] >= 0:
            bits = _common(index, members[i])
            sizes[i] = count_ones(bits)
            if sizes[i] > index.limit:
                form[i], low[i], high[i] = BITMAPS, 0, 0
                continue
            end = list_ones(bits, listed, end)
        elif documents.form[parent] == BITMAPS:
            found = index.documents[first:last]
            end = _filter(index, documents.terms[parent], found, listed, end)
        else:
            found = valid_documents(index, documents, parent)
            if one_document and len(found) == 1:
                listed[end] = found[0]
                end += 1
            elif index.heavy[term] >= 0:
                end = _filter(index, terms[i : i + 1], found, listed, end)
            else:
                end = intersect(found, index.documents[first:last], listed, end)
        high[i], sizes[i] = end, end - low[i]
    return Documents(members, form, low, high, sizes, listed[:end])


@kernel
def valid_documents(index: Index, documents: Documents, i: int) -> Int32:
    """Y of set i, which must not be in the form of bitmaps."""
    source = index.documents if documents.form[i] == POSTINGS else documents.listed
    return source[documents.low[i] : documents.high[i]]


@kernel
def only_document(index: Index, documents: Documents, sets: Int) -> Int:
    """[C] the document in Y of set `sets[c]` if there is one only, else -1.

    In the form of bitmaps, which have more than `limit` ≥ 1 documents, such a Y is only that of the
    empty set in a collection of one document.
    """
    only = np.full(len(sets), -1, dtype=np.int64)
    for c in range(len(sets)):
        if documents.sizes[sets[c]] == 1:
            bitmaps = documents.form[sets[c]] == BITMAPS
            only[c] = 0 if bitmaps else valid_documents(index, documents, sets[c])[0]
    return only


@kernel
def leads(index: Index, documents: Documents, sets: Int, low: Int, high: Int, terms: Int32) -> Bool:
    """[C] whether some document of Y of set `sets[c]` holds any of `terms[low[c]:high[c]]` that is
    not in the set already."""
    found = np.zeros(len(sets), dtype=np.bool_)
    for c in range(len(sets)):
        for i in range(low[c], high[c]):
            if _occurs(index, documents, sets[c], terms[i]):
                found[c] = True
                break
    return found


@kernel
def best_value(
    index: Index,
    documents: Documents,
    sets: Int,
    query: Int,
    values: NDArray[np.float32],
    order: Int32,
) -> NDArray[np.float64]:
    """[R] the largest of values[query[r]] among the documents in Y of set `sets[r]`.

    `order` [Q, M] are each query's M best documents, best first. Where Y is in the form of bitmaps
    they are tried in turn; if none is in Y, the value of the last is an upper bound.
    """
    best = np.full(len(sets), -np.inf)
    for r in range(len(sets)):
        row, i = values[query[r]], sets[r]
        if documents.form[i] != BITMAPS:
            for document in valid_documents(index, documents, i):
                best[r] = max(best[r], row[document])
            continue
        for document in order[query[r]]:
            best[r] = row[document]
            if _in_all(index, documents.terms[i], document):
                break
    return best


@kernel
def of_length(
    index: Index, documents: Documents, offsets: Int, all_of_length: Int32
) -> tuple[Int, Int32]:
    """CSR of the documents in each Y that have exactly as many terms as the set.

    `offsets` are those of the documents' terms; `all_of_length` is needed where Y is in the form of
    bitmaps: these documents are fewer to go through.
    """
    size, held = documents.terms.shape
    ends = np.zeros(size + 1, dtype=np.int64)
    room = 1  # lists are written one place ahead
    for i in range(size):
        room += documents.sizes[i] if documents.form[i] != BITMAPS else len(all_of_length)
    complete = np.empty(room, dtype=np.int32)
    end = int(np.int64(0))  # a typed zero: callees compile once
    for i in range(size):
        if documents.form[i] == BITMAPS:
            end = _filter(index, documents.terms[i], all_of_length, complete, end)
        else:
            for document in valid_documents(index, documents, i):
                if offsets[document + 1] - offsets[document] == held:
                    complete[end] = document
                    end += 1
        ends[i + 1] = end
    return ends, complete[:end]


@kernel
def _room(index: Index, documents: Documents, parents: Int, terms: Int32) -> int:
    """An upper bound on what `narrow` writes down; pages that are never touched cost nothing."""
    total = 0
    for i in range(len(parents)):
        held = index.offsets[terms[i] + 1] - index.offsets[terms[i]]
        if documents.form[parents[i]] == BITMAPS:
            total += min(held, index.limit) if index.heavy[terms[i]] >= 0 else held
        else:
            total += min(held, documents.sizes[parents[i]])
    return total + 1  # lists are written one place ahead


@kernel
def _occurs(index: Index, documents: Documents, i: int, term: int) -> bool:
    """Whether Y of set i has a document with a term that is not yet in the set."""
    members = documents.terms[i]
    for member in members:
        if member == term:
            return False
    found = index.documents[index.offsets[term] : index.offsets[term + 1]]
    if documents.form[i] == BITMAPS:
        if index.heavy[term] >= 0:
            return _any_common(index, members, index.bitmaps[index.heavy[term]])
        return _any_in_all(index, members, found)
    valid = valid_documents(index, documents, i)
    if index.heavy[term] >= 0:
        return _any_in_all(index, np.array([term], dtype=np.int32), valid)
    return intersects(valid, found)


@kernel
def _any_in_all(index: Index, terms: Int32, documents: Int32) -> bool:
    """Whether one of the documents holds all of these heavy terms."""
    for document in documents:  # noqa: SIM110 - numba compiles no generators
        if _in_all(index, terms, document):
            return True
    return False


@kernel
def _in_all(index: Index, terms: Int32, document: int) -> bool:
    """Whether a document holds all of these heavy terms."""
    for term in terms:  # noqa: SIM110
        if not has_bit(index.bitmaps[index.heavy[term]], document):
            return False
    return True


@kernel
def _filter(index: Index, terms: Int32, documents: Int32, out: Int32, end: int) -> int:
    """Append to `out` the documents that hold all of these heavy terms; the new end."""
    for document in documents:
        out[end] = document
        end += _in_all(index, terms, document)
    return end


@kernel
def _common(index: Index, terms: Int32) -> NDArray[np.uint64]:
    """The bitmap of the documents that hold all of these heavy terms, one at least."""
    bits: NDArray[np.uint64] = index.bitmaps[index.heavy[terms[0]]].copy()
    for j in range(1, len(terms)):
        row = index.bitmaps[index.heavy[terms[j]]]
        for word in range(len(bits)):
            bits[word] &= row[word]
    return bits


@kernel
def _any_common(index: Index, terms: Int32, row: NDArray[np.uint64]) -> bool:
    """Whether a document of the bitmap holds all of these heavy terms."""
    for word in range(len(row)):
        bits = row[word]
        for term in terms:
            bits &= index.bitmaps[index.heavy[term], word]
        if bits:
            return True
    return False


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
