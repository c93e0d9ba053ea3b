"""Changing a collection: documents put and removed, one transaction for each call."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from tsgen.docids.stage import TermsConfig, kept_weights
from tsgen.errors import ArtifactError, DataError, named
from tsgen.records import Document
from tsgen.retrieve.base import Base, Bases
from tsgen.retrieve.documents import as_json
from tsgen.retrieve.placing import Candidate, Choice, Known, Terms
from tsgen.retrieve.store import Store
from tsgen.terms.words import Splitter


class Changed(NamedTuple):
    """How many documents were new, and how many replaced one of the same id."""

    added: int
    updated: int


class Writer:
    """Changes one engine's folder; others, here and in other processes, wait for their turn."""

    def __init__(
        self, folder: Path, config: TermsConfig, weights: Path | None, bases: Bases
    ) -> None:
        self._folder, self._config, self._weights = folder, config, weights
        self._turn, self._bases = Lock(), bases
        self._known: tuple[Base, Known] | None = None

    def put(self, documents: Sequence[Document]) -> Changed:
        """Add documents, or replace those of the same id."""
        _check(documents)
        if not documents:
            return Changed(0, 0)
        with self._turn:
            candidates = self._terms.weigh(documents)  # takes longest, and needs no lock
            with self._store.writing():
                return self._change().put(candidates)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove documents; all of them or, if one is unknown, none."""
        if not ids:
            return 0
        with self._turn, self._store.writing():
            change = self._change()
            unknown = [id for id in dict.fromkeys(ids) if not change.take_away(id)]
            if unknown:
                raise DataError(f"not in the collection: {named(unknown)}. Nothing was removed.")
            return len(set(ids))

    def close(self) -> None:
        """Give the store back."""
        if "_store" in self.__dict__:
            self._store.close()

    def _change(self) -> "_Change":
        base = self._bases(self._store.state().base)
        return _Change(self._store, base, self._store.changed(), self)

    def known(self, base: Base) -> tuple[Terms, Known]:
        """What gives documents their terms beside those of a base."""
        if self._known is None or self._known[0] is not base:
            self._known = base, Known(base, self._terms)
        return self._terms, self._known[1]

    @cached_property
    def _store(self) -> Store:
        return Store.create(self._folder)

    @cached_property
    def _terms(self) -> Terms:
        if self._weights is None:
            raise ArtifactError(
                f"{self._folder}: this engine was made before engines kept what gives a document "
                "its terms, so it cannot take new ones. Remove the folder and make it again with "
                "the same command (what was trained is in the cache and is not trained again)."
            )
        weights, n = kept_weights(self._weights, self._config)
        return Terms(weights, n, Splitter(self._config.words))


@dataclass(frozen=True, slots=True)
class _Change:
    """One transaction."""

    store: Store
    base: Base
    number: int
    writer: Writer

    def put(self, candidates: Sequence[Candidate]) -> Changed:
        updated = sum(self.take_away(one.document.id) for one in candidates)
        for one in candidates:
            self.place(one)
        return Changed(len(candidates) - updated, updated)

    def take_away(self, document_id: str) -> bool:
        """Whether the document was there."""
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
        self.store.insert(one.document, spelled, choice.weights, choice.set_hash, words)
        for document in others:
            self.place(terms.weigh([document])[0], stay | {one.document.id})

    def _others(self, choice: Choice, words: int) -> list[Document]:
        """The documents with a set, but with other words."""
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
        """A term as the collection spells it."""
        terms, known = self.writer.known(self.base)
        key = terms.key(term)
        here = known.spellings.get(key) or self.store.spelling(key)
        if here is None:
            self.store.spell(key, term)
        return here or term


def _check(documents: Sequence[Document]) -> None:
    """Refuse what cannot be kept, before any work."""
    for document in documents:
        if not document.id:
            raise DataError("a document with an empty id; expected a string that names it.")
        as_json([document.id, document.title, document.text], document.id)
    twice = [id for id, count in Counter(one.id for one in documents).items() if count > 1]
    if twice:
        raise DataError(
            f"{twice[0]!r} is the id of several documents to put at once; expected each id once."
        )
