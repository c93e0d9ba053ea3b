"""The query's own words among a document's terms.

    o(Q, D) = Σ_{t ∈ Q ∩ T(D)} (N ŵ_D(t))^{1/u} log(1 + (C − n_t + ½) / (n_t + ½)),

where n_t = |Φ(t)| of C documents have the term, ŵ_D are the weights of D's N terms with sum 1, and
u flattens them (see `rescore`). It is BM25 of the term sets: in place of how often a word occurs,
which a set does not know, there is how heavy it is. A model that has learned what people call a
thing knows less well than a count how telling it is that a rare word is the same.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.rescore import FLATTENED


def overlaps(constraint: PostingsConstraint, queries: Sequence[str]) -> NDArray[np.float32]:
    """[Q, C] o of each query and document."""
    found = np.zeros((len(queries), constraint.documents), dtype=np.float32)
    offsets, documents = constraint.postings.offsets, constraint.postings.values
    for row, query in zip(found, queries, strict=True):
        for term in constraint.asked(query).tolist():
            having = slice(offsets[term], offsets[term + 1])
            heavy = constraint.relative_weights[having] ** (1 / FLATTENED)
            row[documents[having]] += heavy * telling(len(heavy), len(row))
    return found


def telling(having: int, documents: int) -> float:
    """log(1 + (C − n + ½) / (n + ½)) of a term that n of C documents have."""
    return float(np.log1p((documents - having + 0.5) / (having + 0.5)))
