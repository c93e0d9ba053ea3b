"""T(D) for a document that comes later: its N heaviest terms, told apart from all others' sets.

As in `terms/unique.py` a document takes the first free combination of its terms by rank, and only
documents with the same words may have the same set. A term that the collection knows is spelled as
it is there. Sets and words are compared by hashes of their keys (stems), which stay when numbers
change.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from tsgen.records import Document
from tsgen.retrieve.base import Base
from tsgen.terms.rank import rank
from tsgen.terms.unique import combinations_by_rank
from tsgen.terms.weighed import RESERVED, reserved_term, weigh_documents
from tsgen.terms.weights import Weights
from tsgen.terms.words import Splitter


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document with all its terms, heaviest first, as they are spelled among the documents that
    came with it."""

    document: Document
    terms: tuple[str, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Some of a candidate's terms, and the hash of that set."""

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    set_hash: int


class Terms:
    """What gives a document its terms: weights, N, and how a text becomes words."""

    def __init__(self, weights: Weights, n: int, splitter: Splitter) -> None:
        self._weights, self._n, self._splitter = weights, n, splitter

    def weigh(self, documents: Sequence[Document]) -> list[Candidate]:
        """All terms of each document, by weight."""
        found = rank(weigh_documents(documents, self._weights), self._splitter.key)
        ends = found.offsets.tolist()
        return [
            Candidate(
                document,
                tuple(found.spellings[term] for term in found.terms[start:end]),
                tuple(found.weights[start:end].tolist()),
            )
            for document, start, end in zip(documents, ends, ends[1:], strict=False)
        ]

    def key(self, term: str) -> str:
        """What is the same for all spellings of a term."""
        return term if term.startswith(RESERVED) else self._splitter.key(term)

    def words_hash(self, document: Document) -> int:
        """Equal for documents with the same words."""
        words = set(self._splitter.keys(document.contents))
        return set_hash(words or {reserved_term(document.id)})

    def choices(self, candidate: Candidate) -> Iterator[Choice]:
        """The sets that a document may take, in order."""
        hashes = [_hash(self.key(term)) for term in candidate.terms]
        for ranks in combinations_by_rank(len(hashes), self._n):
            yield Choice(
                tuple(candidate.terms[i] for i in ranks),
                tuple(candidate.weights[i] for i in ranks),
                _signed(sum(hashes[i] for i in ranks)),
            )


class Known:
    """What a base knows of spellings and sets; made when the first document comes."""

    def __init__(self, base: Base, terms: Terms) -> None:
        self._base, self._terms = base, terms

    @cached_property
    def spellings(self) -> dict[str, str]:
        """How the terms with a key are spelled."""
        return {self._terms.key(term): term for term in self._base.sets.vocabulary}

    def holders(self, value: int) -> list[int]:
        """The numbers of the documents that had a set with this hash when the base was written."""
        order, hashes = self._sets
        start, end = np.searchsorted(hashes, value), np.searchsorted(hashes, value, side="right")
        return [int(number) for number in order[start:end]]

    @cached_property
    def _sets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Documents in the order of their sets' hashes, and the hashes."""
        sets = self._base.sets
        each = np.array([_hash(self._terms.key(term)) for term in sets.vocabulary], np.uint64)
        # Differences of running sums are right although the sums wrap around.
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(each[sets.doc_terms])])
        hashes = (sums[sets.doc_offsets[1:]] - sums[sets.doc_offsets[:-1]]).view(np.int64)
        order = np.argsort(hashes, kind="stable")
        return order, hashes[order]


def set_hash(strings: Iterable[str]) -> int:
    """A hash of a set, as SQLite keeps it."""
    return _signed(sum(map(_hash, strings)))


def _hash(string: str) -> int:
    return int.from_bytes(blake2b(string.encode(), digest_size=8).digest(), "little")


def _signed(value: int) -> int:
    value %= 2**64
    return value - 2**64 if value >= 2**63 else value
