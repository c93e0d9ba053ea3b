"""Changing an engine's documents without training.

The engine's own arrays are an immutable base. What is added and removed since is in an SQLite file
beside it (`store.Store`), which every reader merges with the base (`snapshot.Reader`). New
documents get their terms from the weights that the engine was made with.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsgen.artifact import KEPT
from tsgen.docids.assign import kept_weights
from tsgen.errors import ArtifactError, DataError, ReplacedError, named
from tsgen.owner import OpenFolder
from tsgen.records import Document
from tsgen.retrieve.storage import Base, Bases
from tsgen.retrieve.store import Store, as_json
from tsgen.settings import TermsConfig
from tsgen.terms.passages import DocumentVectors
from tsgen.terms.selection import combinations_by_rank, rank
from tsgen.terms.weights import RESERVED, Weights, reserved_term, weigh_documents
from tsgen.terms.words import Splitter

# T(D) for a document that comes later: its N heaviest terms, told apart from all others' sets.
#
# As in `terms/unique.py` a document takes the first free combination of its terms by rank, and only
# documents with the same words may have the same set. A term that the collection knows is spelled
# as it is there. Sets and words are compared by hashes of their keys (stems), which stay when
# numbers change.


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document with all its terms, heaviest first, as they are spelled among the documents that
    came with it, and its vectors as `DocumentVectors.pack` has them, if the generator keeps any."""

    document: Document
    terms: tuple[str, ...]
    weights: tuple[float, ...]
    vectors: bytes | None


@dataclass(frozen=True, slots=True)
class Choice:
    """Some of a candidate's terms, and the hash of the set that they are."""

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    set_hash: int


ReadVectors = Callable[[Sequence[Document]], DocumentVectors | None]
"""Documents → their vectors, or None for a generator that keeps none."""


class Terms:
    """What gives a document its terms and its vectors: weights, N, how a text becomes words, and
    how the generator reads documents."""

    def __init__(self, weights: Weights, n: int, splitter: Splitter, read: ReadVectors) -> None:
        self._weights, self._n, self._splitter, self._read = weights, n, splitter, read

    def weigh(self, documents: Sequence[Document]) -> list[Candidate]:
        """Weigh documents: all terms of each, heaviest first, and its vectors."""
        found = rank(weigh_documents(documents, self._weights), self._splitter.key)
        ends = found.offsets.tolist()
        read = self._read(documents)
        return [
            Candidate(
                document,
                tuple(found.spellings[term] for term in found.terms[start:end]),
                tuple(found.weights[start:end].tolist()),
                None if read is None else read.pack(number),
            )
            for number, (document, start, end) in enumerate(
                zip(documents, ends, ends[1:], strict=False)
            )
        ]

    def key(self, term: str) -> str:
        """A term's stem, which is equal for all spellings of the term."""
        return term if term.startswith(RESERVED) else self._splitter.key(term)

    def words_hash(self, document: Document) -> int:
        """A hash that is equal for documents with the same words."""
        words = set(self._splitter.keys(document.contents))
        return set_hash(words or {reserved_term(document.id)})

    def choices(self, candidate: Candidate) -> Iterator[Choice]:
        """The term sets that a document may take, best first."""
        hashes = [_hash(self.key(term)) for term in candidate.terms]
        for ranks in combinations_by_rank(len(hashes), self._n):
            yield Choice(
                tuple(candidate.terms[i] for i in ranks),
                tuple(candidate.weights[i] for i in ranks),
                _signed(sum(hashes[i] for i in ranks)),
            )


class Known:
    """The spellings and term sets of a base; worked out when the first document is added."""

    def __init__(self, base: Base, terms: Terms) -> None:
        self._base, self._terms = base, terms

    @cached_property
    def spellings(self) -> dict[str, str]:
        """The spelling of each term in the base, by the term's key."""
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


# Documents added and removed, one transaction for each call.


class Changed(NamedTuple):
    """The number of documents that were new, and of those that replaced one of the same id."""

    added: int
    updated: int


Begun = Callable[[int], None]
"""Called with the number of a change, within its transaction."""


def _unnoted(_number: int) -> None:
    """Take no note of a change."""


class DocumentWriter:
    """Changes the documents of one engine's folder; other writers, in this process and in others,
    wait for their turn."""

    def __init__(
        self,
        folder: OpenFolder,
        config: TermsConfig,
        weights: Callable[[], Path | None],
        bases: Bases,
        read: ReadVectors,
    ) -> None:
        self._open, self._folder = folder, folder.folder
        self._config, self._weights, self._read = config, weights, read
        self._turn, self._bases = Lock(), bases
        self._known: tuple[Base, Known] | None = None

    def add(self, documents: Sequence[Document], begun: Begun = _unnoted) -> Changed:
        """Add documents, or replace those of the same id, in one transaction; its number is told
        before anyone can see it."""
        _check(documents)
        if not documents:
            return Changed(0, 0)
        with self._turn:
            candidates = self._terms.weigh(documents)  # takes longest, and needs no lock
            with self._changing():
                change = self._change()
                begun(change.number)
                return change.add(candidates)

    def remove(self, ids: Sequence[str], begun: Begun = _unnoted) -> int:
        """Remove all of these documents or, if one id is unknown, none; returns how many."""
        if not ids:
            return 0
        with self._turn, self._changing():
            change = self._change()
            begun(change.number)
            unknown = [id for id in dict.fromkeys(ids) if not change.take_away(id)]
            if unknown:
                raise DataError(f"not in the collection: {named(unknown)}. Nothing was removed.")
            return len(set(ids))

    def close(self) -> None:
        """Close the file of changes."""
        if "_store" in self.__dict__:
            self._store.close()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One change, in the folder and the file that were opened and are still there."""
        with self._open.changing():
            if not self._store.is_current():
                raise ReplacedError(
                    f"{self._store.path}: was replaced or removed since it was opened. Nothing was "
                    "changed. Open the engine again."
                )
            with self._store.writing():
                yield

    def _change(self) -> "_Change":
        base = self._bases(self._store.state().base)
        return _Change(self._store, base, self._store.changed(), self)

    def known(self, base: Base) -> tuple[Terms, Known]:
        """What gives documents their terms, and the spellings and sets that a base has already."""
        if self._known is None or self._known[0] is not base:
            self._known = base, Known(base, self._terms)
        return self._terms, self._known[1]

    @cached_property
    def _store(self) -> Store:
        return Store.create(self._folder)

    @cached_property
    def _terms(self) -> Terms:
        weights = self._weights()
        if weights is None:
            raise ArtifactError(
                f"{self._folder}: no folder {KEPT!r} with the weights that give a document its "
                "terms, so the engine cannot take new ones. Make another with the same command "
                "and another --out (what was trained is in the cache and is not trained again)."
            )
        weigh, n = kept_weights(weights, self._config)
        return Terms(weigh, n, Splitter(self._config.words), self._read)


@dataclass(frozen=True, slots=True)
class _Change:
    """One transaction that adds or removes documents."""

    store: Store
    base: Base
    number: int
    writer: DocumentWriter

    def add(self, candidates: Sequence[Candidate]) -> Changed:
        updated = sum(self.take_away(one.document.id) for one in candidates)
        for one in candidates:
            self.place(one)
        return Changed(len(candidates) - updated, updated)

    def take_away(self, document_id: str) -> bool:
        """Remove a document if it is there; returns whether it was."""
        sequence = self.store.sequence(document_id)
        if sequence is not None:
            self.store.take_away(sequence, self.number)
            return True
        number = self.base.numbers.get(document_id)
        return number is not None and self.store.remove(number, self.number)

    def place(self, one: Candidate, stay: frozenset[str] = frozenset()) -> None:
        """Give a document the first set that no document with other words has. If there is none, a
        document with more words has all of its words as a set: then that one moves, unless it is
        among those that are to `stay`, for which others have moved."""
        terms, _ = self.writer.known(self.base)
        words = terms.words_hash(one.document)
        for choice in terms.choices(one):
            others = self._others(choice, words)
            if not others:
                break
        others = [document for document in others if document.id not in stay]
        for document in others:
            self.take_away(document.id)
        spelled = [self._spelled(term) for term in choice.terms]
        hashes = choice.set_hash, words
        self.store.insert(one.document, spelled, choice.weights, one.vectors, *hashes)
        for document in others:
            self.place(terms.weigh([document])[0], stay | {one.document.id})

    def _others(self, choice: Choice, words: int) -> list[Document]:
        """The documents that have a term set, but other words."""
        terms, known = self.writer.known(self.base)
        found = [
            self.store.document(sequence)
            for sequence, other in self.store.holders(choice.set_hash)
            if other != words
        ]
        for number in known.holders(choice.set_hash):
            if not self.store.is_removed(number):
                document = self.base.documents[number]
                found += [document] if terms.words_hash(document) != words else []
        return [document for document in found if document is not None]

    def _spelled(self, term: str) -> str:
        """A term in the spelling that the engine's other documents use."""
        terms, known = self.writer.known(self.base)
        key = terms.key(term)
        here = known.spellings.get(key) or self.store.spelling(key)
        if here is None:
            self.store.spell(key, term)
        return here or term


def _check(documents: Sequence[Document]) -> None:
    """Refuse documents that cannot be stored, before any work."""
    for document in documents:
        if not document.id:
            raise DataError("a document with an empty id; expected a string that names it.")
        as_json([document.id, document.title, document.text], document.id)
    twice = [id for id, count in Counter(one.id for one in documents).items() if count > 1]
    if twice:
        raise DataError(
            f"{twice[0]!r} is the id of several documents to add at once; expected each id once."
        )
