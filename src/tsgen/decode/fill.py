"""What a beam lost and the set prior kept: documents that follow, or overtake, what was generated.

A beam of B hypotheses leads to few documents, and those it prunes are gone, while one step of the
decoder has an opinion on every document. So the prior's best M that the beam did not reach are
added with the lowest score of those it did,

    score(D) = min score + prior(D) − max prior,   D not found,

which puts them behind, in the prior's order; `rescore` then weighs all alike, and one that means
what the query is after comes forward. Its reason is made of the first step's probabilities: its
terms, likeliest first, with the documents that are left after each.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int32
from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.found import Found

Float32 = NDArray[np.float32]


def fill(found: Sequence[Found], documents: Int32, priors: Float32) -> list[Found]:
    """What was found for a query, followed by those of the prior's `documents` [M], best first,
    that were not; these have no reason yet."""
    known = {one.document for one in found}
    lost = [i for i, document in enumerate(documents.tolist()) if document not in known]
    if not lost:
        return list(found)
    least = min((one.score for one in found), default=0.0) - float(priors[lost[0]])
    return [*found, *(Found(int(documents[i]), least + float(priors[i]), (), (), ()) for i in lost)]


def with_reason(one: Found, log_probs: Float32, constraint: PostingsConstraint) -> Found:
    """With its terms as the reason, if nothing was generated for it; `log_probs` [T] are those of
    the first step."""
    if one.units:
        return one
    sets = constraint.term_sets
    terms = sets.values[slice(*sets.offsets[one.document : one.document + 2])]
    terms = terms[np.argsort(-log_probs[terms], kind="stable")]
    left, sizes = None, []
    for term in terms.tolist():
        if left is None or len(left) > 1:
            having = constraint.postings.row(term)
            left = having if left is None else np.intersect1d(left, having, assume_unique=True)
        sizes.append(len(left))
    likely = tuple(log_probs[terms].tolist())
    return replace(one, units=tuple(terms.tolist()), log_probs=likely, valid_documents=tuple(sizes))
