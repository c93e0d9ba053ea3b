"""Algorithm 1 of the paper and the permutation search of its Section 3.3, written down literally.

Line by line, in plain Python, with the paper's letters: Φ the inverted index, X the terms so far, Y
the documents that have them all, V the terms that may come next. What the paper leaves open is
decided as simply as can be: a beam that no term continues ends, ties go to the beam and the term
with the smaller number, and a document's score is that of its best beam.
"""

from collections.abc import Callable, Mapping, Sequence

Order = tuple[int, ...]
LogProb = Callable[[Order, int], float]
"""(terms so far, term) → log p of the term's tokens after them."""


def permutation_invariant_decoding(
    sets: Sequence[Sequence[int]], log_prob: LogProb, beams: int
) -> dict[int, tuple[float, Order]]:
    """Document → its score and the permutation of its best beam, for all documents returned."""
    # Create an empty inverted index that maps each term to documents containing it.
    inverted: dict[int, set[int]] = {}
    for document, terms in enumerate(sets):
        for term in terms:
            inverted.setdefault(term, set()).add(document)
    # Initialize the generated terms, the valid documents and the valid decoding space.
    longest = max(map(len, sets))
    x: list[Order] = [()]
    y: list[set[int]] = [set(range(len(sets)))]
    v: list[set[int]] = [set().union(*sets)]
    score = [0.0]
    found: dict[int, tuple[float, Order]] = {}
    for _ in range(longest):
        # Beam search over the valid decoding space: X_b × V_b, the B best by Σ log p.
        grown = [
            (score[b] + log_prob(x[b], term), b, term)
            for b in range(len(x))
            for term in sorted(v[b])
        ]
        best = sorted(grown, key=lambda one: (-one[0], one[1], one[2]))[:beams]
        # Reorder valid documents to align with current beams.
        y = [y[b] for _, b, _ in best]
        x = [(*x[b], term) for _, b, term in best]
        score = [value for value, _, _ in best]
        # Narrow down the valid documents, and update the valid decoding space.
        y = [y[b] & inverted[x[b][-1]] for b in range(len(x))]
        v = [set().union(*(sets[d] for d in y[b])) - set(x[b]) for b in range(len(x))]
        for b in range(len(x)):  # the documents of the beams that generated a whole set
            for document in y[b]:
                if len(sets[document]) == len(x[b]) and document not in found:
                    found[document] = (score[b], x[b])
    return found


def favourable_permutations(
    terms: Sequence[int], log_prob: LogProb, beams: int
) -> list[tuple[float, Order]]:
    """Z_{1,N} … Z_{B',N} of Section 3.3, the first beam first; p is that at temperature u."""
    z: list[tuple[float, Order]] = [(0.0, ())]
    for _ in terms:
        grown = [
            (score + log_prob(so_far, term), (*so_far, term))
            for score, so_far in z
            for term in terms  # V' ← T(D) \ Z
            if term not in so_far
        ]
        z = sorted(grown, key=lambda one: -one[0])[:beams]
    return z


def best_first(found: Mapping[int, tuple[float, Order]]) -> list[int]:
    """The documents by likelihood, as the search returns them."""
    return sorted(found, key=lambda document: (-found[document][0], document))
