"""The first stage of a search: a pool of documents that may be among the best, in bounded time.

A query Q names documents in two ways. Its own words name those that have them. And the generator
writes terms: the `SPOKEN` terms t with the largest e(t) · v(Q), in one step, since for a model of
term vectors every order of a set is equally likely (see `tsgen.model.term_vectors`). A document
that has some of these words is a candidate, with the sum

    a(Q, D) = prior_weight · Σ_{t spoken} √ŵ_D(t) · e(t) · v(Q)
            + lexical_weight · Σ_{t ∈ Q} √idf(t) · w_D(t),

in which the first part is what the model's terms say of v(D) · v(Q), and the second the lexical
part of the score. The pool is the best of the candidates; what ranks the pool is the whole score
(see `tsgen.decode.pool_ranking`).

No list is read to its end. Each term keeps, apart from its postings, its `leaders`: the documents
in which it weighs most, heaviest first. Of a spoken term `SPOKEN_LEADERS` of them are read, and of
all the query's own words together `OWN_LEADERS`, divided so that rare words are read in full. Which
terms are spoken is found in `RANK` dimensions, the principal ones of the term vectors, among at
most `VOCABULARY` terms. So the time of a query does not grow with the collection, and what this
loses is in docs/results/zero-shot.md.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import constant, load_array, offsets_of, save_array
from tsgen.constrain.kernels import kernel
from tsgen.integrity import require_numbers, require_offsets, require_shape

VOCABULARY = 16_384  # terms that can be spoken, those that say most of the documents' vectors
RANK = 96
SPOKEN = 32
SPOKEN_LEADERS = 200
OWN_LEADERS = 8192

Float32 = NDArray[np.float32]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

NAMES = (
    "own_offsets",
    "own_documents",
    "own_weights",
    "spoken_offsets",
    "spoken_documents",
    "spoken_weights",
    "spoken_terms",
    "spoken_vectors",
    "spoken_basis",
)


@dataclass(frozen=True, slots=True)
class FirstStage:
    """What the first stage reads of a collection; all of it can be mapped from files."""

    own_offsets: Int64  # [V + 1]
    own_documents: Int32  # the leaders of every term by w_D(t), at most OWN_LEADERS of each
    own_weights: Float32  # w_D(t) beside them
    spoken_offsets: Int64  # [G + 1]
    spoken_documents: Int32  # the leaders of every spoken term by ŵ_D(t)
    spoken_weights: Float32  # √ŵ_D(t) beside them
    spoken_terms: Int32  # [G] the numbers of the terms that can be spoken
    spoken_vectors: Float32  # [G, r] their vectors in the basis
    spoken_basis: Float32  # [d, r]

    @classmethod
    def build(
        cls,
        post_offsets: NDArray[np.integer[Any]],
        post_documents: Int32,
        weights: Float32,
        shares: Float32,
        vectors: NDArray[np.floating[Any]],
    ) -> Self:
        """Find the leaders of a collection's terms.

        Args:
            post_offsets: [V + 1] where each term's postings begin.
            post_documents: [E] the documents of each term.
            weights: [E] w_D(t) beside the postings.
            shares: [E] ŵ_D(t) beside the postings.
            vectors: [V, d] the terms' vectors.
        """
        every = np.arange(len(post_offsets) - 1, dtype=np.int32)
        offsets = np.asarray(post_offsets, np.int64)
        own = _leaders(offsets, post_documents, weights, every, OWN_LEADERS)
        strength = np.diff(offsets) * np.square(vectors, dtype=np.float32).sum(axis=1)
        strongest = np.argsort(-strength, kind="stable")[:VOCABULARY]
        terms = np.sort(strongest[strength[strongest] > 0]).astype(np.int32)
        spoken = _leaders(offsets, post_documents, np.sqrt(shares), terms, SPOKEN_LEADERS)
        chosen = np.asarray(vectors[terms], np.float32)
        basis = _principal(chosen, RANK)
        arrays = *own, *spoken, terms, chosen @ basis, basis
        return cls(*(constant(array) for array in arrays))

    def save(self, folder: Path) -> None:
        """Write the arrays into an existing folder."""
        for name in NAMES:
            save_array(folder, name, getattr(self, name))

    @classmethod
    def load(cls, folder: Path, documents: int) -> Self:
        """Map the arrays of a collection of so many documents into memory. Arrays that point
        outside of one another are refused, since compiled loops index unchecked."""
        found = cls(*(constant(load_array(folder, name)) for name in NAMES))
        terms = len(found.own_offsets) - 1
        require_numbers(folder / "spoken_terms.npy", found.spoken_terms, terms)
        for kind, rows in (("own", terms), ("spoken", len(found.spoken_terms))):
            offsets, numbers, weights = (
                getattr(found, f"{kind}_{name}") for name in ("offsets", "documents", "weights")
            )
            require_offsets(folder / f"{kind}_offsets.npy", offsets, rows, len(numbers))
            require_numbers(folder / f"{kind}_documents.npy", numbers, documents)
            require_shape(folder / f"{kind}_weights.npy", weights, numbers.shape)
        rank = len(found.spoken_basis.T)
        require_shape(folder / "spoken_vectors.npy", found.spoken_vectors, (rows, rank))
        return found

    def warm_up(self) -> None:
        """Run the compiled loop once, so that its machine code is on disk for the first search."""
        nothing = np.zeros(0, np.int32), np.zeros(0, np.float32)
        self.candidates(*nothing, *nothing)

    def spoken(self, queries: Float32) -> tuple[Int32, Float32]:
        """The places [Q, m] in `spoken_terms` of the terms that the generator writes for queries
        with these vectors [Q, d], best first, and their e(t) · v(Q) [Q, m], all of them positive or
        else 0."""
        scores = (queries @ self.spoken_basis) @ self.spoken_vectors.T  # [Q, G]
        count = min(SPOKEN, scores.shape[1])
        best = np.argpartition(-scores, count - 1, axis=1)[:, :count] if count else scores[:, :0]
        found = np.take_along_axis(scores, best.astype(np.int64), axis=1)
        order = np.argsort(-found, axis=1, kind="stable")
        places = np.take_along_axis(best, order, axis=1).astype(np.int32)
        return places, np.maximum(np.take_along_axis(found, order, axis=1), 0)

    def candidates(
        self, spoken: Int32, spoken_factors: Float32, own: Int32, own_factors: Float32
    ) -> tuple[Int32, Float32]:
        """The documents that a query names, in no order, and a(Q, D) of each.

        Args:
            spoken: [m] places in `spoken_terms`.
            spoken_factors: [m] prior_weight · e(t) · v(Q).
            own: [n] terms that are words of the query, rarest first.
            own_factors: [n] lexical_weight · √idf(t).
        """
        return _candidates(
            (self.spoken_offsets, self.spoken_documents, self.spoken_weights),
            spoken,
            spoken_factors,
            (self.own_offsets, self.own_documents, self.own_weights),
            own,
            own_factors,
            OWN_LEADERS,
        )


def _leaders(
    offsets: Int64, documents: Int32, values: Float32, terms: Int32, most: int
) -> tuple[Int64, Int32, Float32]:
    """The postings of some terms with the highest values, highest first, at most so many each."""
    counts = np.minimum(np.diff(offsets)[terms], most)
    kept = offsets_of(counts)
    values = np.ascontiguousarray(values, np.float32)
    entries = _heaviest(offsets, values, terms, kept)
    return kept, np.asarray(documents)[entries].astype(np.int32), values[entries]


@kernel
def _heaviest(offsets: Int64, values: Float32, terms: Int32, kept: Int64) -> Int64:
    """The entries with the highest values of each term, highest first; ties by entry."""
    entries = np.empty(kept[-1], np.int64)
    for row in range(len(terms)):
        first, last = offsets[terms[row]], offsets[terms[row] + 1]
        order = np.argsort(-values[first:last], kind="mergesort")
        for j in range(kept[row + 1] - kept[row]):
            entries[kept[row] + j] = first + order[j]
    return entries


def _principal(vectors: Float32, rank: int) -> Float32:
    """[d, r] an orthonormal basis of the directions in which vectors [G, d] reach farthest."""
    moments = vectors.T.astype(np.float64) @ vectors
    _, directions = np.linalg.eigh(moments)
    return np.ascontiguousarray(directions[:, ::-1][:, :rank], np.float32)


Lists = tuple[Int64, Int32, Float32]


@kernel
def _candidates(
    spoken_lists: Lists,
    spoken: Int32,
    spoken_factors: Float32,
    own_lists: Lists,
    own: Int32,
    own_factors: Float32,
    budget: int,
) -> tuple[Int32, Float32]:
    """Add up what the lists say of each document, in a hash table by document."""
    reads = np.zeros(len(own), np.int64)
    left, total = budget, 0
    for i in range(len(own)):
        length = own_lists[0][own[i] + 1] - own_lists[0][own[i]]
        reads[i] = min(length, left // (len(own) - i))
        left -= reads[i]
        total += reads[i]
    for i in range(len(spoken)):
        if spoken_factors[i] > 0:
            total += spoken_lists[0][spoken[i] + 1] - spoken_lists[0][spoken[i]]
    size = 16
    while size < 2 * total:
        size *= 2
    keys, sums = np.full(size, -1, np.int32), np.zeros(size, np.float32)
    for i in range(len(own)):
        first = own_lists[0][own[i]]
        for j in range(first, first + reads[i]):
            _add(keys, sums, own_lists[1][j], own_factors[i] * own_lists[2][j])
    for i in range(len(spoken)):
        if spoken_factors[i] > 0:
            for j in range(spoken_lists[0][spoken[i]], spoken_lists[0][spoken[i] + 1]):
                _add(keys, sums, spoken_lists[1][j], spoken_factors[i] * spoken_lists[2][j])
    used = np.flatnonzero(keys >= 0)
    return keys[used], sums[used]


@kernel
def _add(keys: Int32, sums: Float32, document: int, value: float) -> None:
    """Add a value to a document's sum in a hash table whose size is a power of two."""
    mask = len(keys) - 1
    place = (document * 0x9E3779B1) & mask
    while keys[place] >= 0 and keys[place] != document:
        place = (place + 1) & mask
    keys[place] = document
    sums[place] += value
