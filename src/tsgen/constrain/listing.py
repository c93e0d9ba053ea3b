"""Y of some rows written down, for whoever wants to read it."""

from functools import reduce

import numpy as np

from tsgen.constrain.constraint import Int, Int32
from tsgen.constrain.documents import BITMAPS, Documents, Index, valid_documents
from tsgen.constrain.frontier import SetFrontier


def documents_of(frontier: SetFrontier, rows: Int, most: int) -> list[tuple[int, ...]]:
    """For each row the documents that hold all its terms, ascending; none where they are more than
    `most`. The rows have a term at least."""
    sets = frontier.set_of[rows]
    few = frontier.documents.sizes[sets] <= most
    return [
        tuple(_listed(frontier.index, frontier.documents, number).tolist()) if small else ()
        for number, small in zip(sets.tolist(), few.tolist(), strict=True)
    ]


def _listed(index: Index, documents: Documents, number: int) -> Int32:
    if documents.form[number] != BITMAPS:
        listed: Int32 = valid_documents(index, documents, number)
        return listed
    postings = (
        index.documents[index.offsets[term] : index.offsets[term + 1]]
        for term in documents.terms[number]
    )
    return reduce(np.intersect1d, postings)
