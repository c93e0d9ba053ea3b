"""Walking the index: where the terms of each document lead, by intersecting their postings."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tsgen.docids.term_set import TermSets
from tsgen.terms.strings import Offsets

Int32 = NDArray[np.int32]


class Walks(NamedTuple):
    """For each document D, about the valid documents Y that are left when T(D) is generated."""

    reached: NDArray[np.bool_]  # [D] whether D is in Y
    first: Int32  # [D] the lowest-numbered one in Y with as many terms as D, so with its set; or −1
    supersets: NDArray[np.int64]  # [D] how many in Y have more terms: T(D) ⊂ T


def walk(sets: TermSets) -> Walks:
    """Generate T(D) for every document D."""
    longest = int(np.diff(sets.post_offsets).max(initial=0))
    arrays = sets.doc_offsets, sets.doc_terms, sets.post_offsets, sets.post_docs
    return Walks(*_walk(*arrays, np.empty(longest, np.int32)))


@njit(cache=True)
def _walk(
    doc_offsets: Offsets, doc_terms: Int32, post_offsets: Offsets, post_docs: Int32, valid: Int32
) -> tuple[NDArray[np.bool_], Int32, NDArray[np.int64]]:
    documents = len(doc_offsets) - 1
    reached = np.zeros(documents, np.bool_)
    first = np.full(documents, -1, np.int32)
    supersets = np.zeros(documents, np.int64)
    for document in range(documents):
        terms = doc_terms[doc_offsets[document] : doc_offsets[document + 1]]
        for other in valid[: _intersect(terms, post_offsets, post_docs, valid)]:
            reached[document] |= other == document
            size = doc_offsets[other + 1] - doc_offsets[other]
            if size == len(terms) and first[document] < 0:
                first[document] = other
            supersets[document] += size > len(terms)
    return reached, first, supersets


@njit(cache=True)
def _intersect(terms: Int32, post_offsets: Offsets, post_docs: Int32, valid: Int32) -> int:
    """Write the documents that have all terms to `valid`; their number. Starts at the rarest."""
    if len(terms) == 0:
        return 0
    rarest = terms[0]
    for term in terms:
        if (
            post_offsets[term + 1] - post_offsets[term]
            < post_offsets[rarest + 1] - post_offsets[rarest]
        ):
            rarest = term
    count = post_offsets[rarest + 1] - post_offsets[rarest]
    valid[:count] = post_docs[post_offsets[rarest] : post_offsets[rarest + 1]]
    for term in terms:
        postings = post_docs[post_offsets[term] : post_offsets[term + 1]]
        kept = 0
        for document in valid[:count]:
            at = np.searchsorted(postings, document)
            if at < len(postings) and postings[at] == document:
                valid[kept] = document
                kept += 1
        count = kept
    return int(count)
