"""The query's own words among a document's terms.

    o(Q, D) = Σ_{t ∈ Q ∩ T(D)} log(1 + (C − n_t + ½) / (n_t + ½)),   n_t = |Φ(t)| of C documents

That is what BM25 makes of term sets, where no term occurs twice. A model that has learned what
people call a thing knows less well than a count how telling it is that a rare word is the same.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int32
from tsgen.constrain.postings import PostingsConstraint


def overlaps(constraint: PostingsConstraint, queries: Sequence[str]) -> NDArray[np.float32]:
    """[Q, C] o of each query and document."""
    found = np.zeros((len(queries), constraint.documents), dtype=np.float32)
    for row, query in zip(found, queries, strict=True):
        for term in constraint.asked(query).tolist():
            documents = constraint.postings.row(term)
            row[documents] += telling(documents, len(row))
    return found


def telling(having: Int32, documents: int) -> float:
    """log(1 + (C − n + ½) / (n + ½)) of a term that some of C documents have."""
    return float(np.log1p((documents - len(having) + 0.5) / (len(having) + 0.5)))
