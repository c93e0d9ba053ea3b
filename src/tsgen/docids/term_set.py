"""Identifiers that are term sets: T(D) of every document, and the postings Φ, as mapped arrays."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from tsgen.arrays import (
    Offsets,
    Strings,
    compiled,
    constant,
    load_array,
    offsets_of,
    save_array,
    smallest_offsets,
)
from tsgen.errors import DamagedError
from tsgen.integrity import CHECK, require_numbers, require_offsets
from tsgen.records import TermSet
from tsgen.settings import WordsConfig
from tsgen.terms.passages import DocumentVectors
from tsgen.terms.words import Lookup, Splitter

ARRAYS = ("doc_offsets", "doc_terms", "post_offsets", "post_docs")
WEIGHTS = "doc_weights"
VECTORS, VECTOR_OFFSETS, VECTOR_PASSAGES = "doc_vectors", "vector_offsets", "vector_passages"
KEYS, KEY_OFFSETS, KEY_TERMS = "keys", "key_term_offsets", "key_terms"
WORDS = "words.json"

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SavedKeys:
    """The terms of each key (stem), as arrays: what a lookup of query words would have to stem all
    terms for."""

    keys: Strings  # [K] ascending
    offsets: Offsets  # [K + 1] where the terms of each key begin
    terms: NDArray[np.int32]  # [V] by number, ascending within a key
    vocabulary: Strings  # [V]

    @classmethod
    def of(cls, vocabulary: Strings, splitter: Splitter) -> Self:
        """Find the stem of each term of a vocabulary."""
        numbers: dict[str, list[int]] = {}
        for number, term in enumerate(vocabulary):
            numbers.setdefault(splitter.key(term), []).append(number)
        keys = sorted(numbers)
        rows = [numbers[key] for key in keys]
        offsets = smallest_offsets(offsets_of(np.array([len(row) for row in rows], np.int64)))
        terms = np.array([number for row in rows for number in row], np.int32)
        return cls(Strings.pack(keys), offsets, terms, vocabulary)

    def get(self, key: str, default: list[str], /) -> list[str]:
        """The terms with a key, in ascending order."""
        place = self.keys.find(key)
        if place is None:
            return default
        own = self.terms[self.offsets[place] : self.offsets[place + 1]].tolist()
        return [self.vocabulary[number] for number in own]

    def save(self, folder: Path) -> None:
        """Write the arrays into an existing folder."""
        self.keys.save(folder, KEYS)
        save_array(folder, KEY_OFFSETS, self.offsets)
        save_array(folder, KEY_TERMS, self.terms)

    @classmethod
    def load(cls, folder: Path, vocabulary: Strings) -> Self:
        """Map the arrays into memory."""
        parts = load_array(folder, KEY_OFFSETS), load_array(folder, KEY_TERMS)
        found = cls(Strings.load(folder, KEYS), *parts, vocabulary)
        rows, entries = len(found.keys), len(vocabulary)
        require_offsets(folder / f"{KEY_OFFSETS}.npy", found.offsets, rows, entries)
        require_numbers(folder / f"{KEY_TERMS}.npy", found.terms, entries)
        return found


class TermSets:
    """The term sets of a corpus. Documents and terms are numbers; nothing is held per document.

    Documents are numbered in corpus order, terms in ascending order of spelling. `doc_terms` has
    the terms of document d at `doc_offsets[d]:doc_offsets[d + 1]`, heaviest first; `post_docs` the
    documents of term t at `post_offsets[t]:post_offsets[t + 1]`, ascending.
    """

    def __init__(
        self,
        documents: Strings,
        vocabulary: Strings,
        doc_offsets: Offsets,
        doc_terms: NDArray[np.int32],
        post_offsets: Offsets,
        post_docs: NDArray[np.int32],
        doc_weights: NDArray[np.float16] | None = None,
        words: WordsConfig | None = None,
        look_up: Callable[[], Lookup] | None = None,
        doc_vectors: DocumentVectors | None = None,
    ) -> None:
        """Wrap the arrays; `build` makes them.

        Args:
            words: how texts were split into the words that terms are chosen from.
            look_up: makes the lookup of query words where that is faster than from the vocabulary.
        """
        self.documents = documents
        self.vocabulary = vocabulary
        self.doc_offsets = doc_offsets  # [D + 1]
        self.doc_terms = doc_terms  # [E]
        self.post_offsets = post_offsets  # [V + 1]
        self.post_docs = post_docs  # [E]
        self.doc_weights = doc_weights  # [E]
        self.doc_vectors = doc_vectors  # where the generator reads documents into vectors
        self.words = words or WordsConfig()
        self._look_up = look_up or (lambda: Lookup(Splitter(self.words), self.vocabulary))

    @classmethod
    def build(
        cls,
        document_ids: Iterable[str],
        spellings: Sequence[str],
        offsets: NDArray[np.int64],
        terms: NDArray[np.int32],
        weights: NDArray[np.float32] | None = None,
        words: WordsConfig | None = None,
    ) -> Self:
        """Term sets over a list of distinct spellings, without those that no set uses."""
        used = np.flatnonzero(np.bincount(terms, minlength=len(spellings)))
        used = np.array(sorted(used.tolist(), key=spellings.__getitem__), np.int64)
        number = np.zeros(len(spellings), np.int32)
        number[used] = np.arange(len(used), dtype=np.int32)
        doc_terms, doc_offsets = number[terms], smallest_offsets(offsets)
        post_offsets = smallest_offsets(offsets_of(np.bincount(doc_terms, minlength=len(used))))
        return cls(
            Strings.pack(document_ids),
            Strings.pack(spellings[i] for i in used.tolist()),
            doc_offsets,
            doc_terms,
            post_offsets,
            invert(doc_offsets, doc_terms, post_offsets),
            None if weights is None else weights.astype(np.float16),
            words,
        )

    @classmethod
    def of(cls, sets: Iterable[TermSet]) -> Self:
        """Term sets from records, in their order."""
        sets = list(sets)
        spellings = sorted({term for one in sets for term in one.terms})
        number = {term: i for i, term in enumerate(spellings)}
        terms = np.array([number[term] for one in sets for term in one.terms], np.int32)
        weights = np.array([weight for one in sets for weight in one.weights], np.float32)
        offsets = offsets_of(np.array([len(one.terms) for one in sets], np.int64))
        return cls.build((one.document_id for one in sets), spellings, offsets, terms, weights)

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.doc_offsets) - 1

    def document_id(self, document: int) -> str:
        """The id of a document by its number."""
        return self.documents[document]

    def document_numbers(self) -> dict[str, int]:
        """Every document's number by its id: for training and evaluation, not for serving."""
        return {document_id: i for i, document_id in enumerate(self.documents)}

    def term(self, term: int) -> str:
        """The spelling of a term by its number."""
        return self.vocabulary[term]

    def term_id(self, word: str) -> int | None:
        """The number of a term, or None if no document has it."""
        return self.vocabulary.find(word)

    def terms(self, document: int) -> NDArray[np.int32]:
        """T(D) by number, heaviest first."""
        return self.doc_terms[self.doc_offsets[document] : self.doc_offsets[document + 1]]

    def term_set(self, document: int) -> TermSet:
        """T(D) spelled out; weights are 0 if they were not kept."""
        terms = tuple(self.term(term) for term in self.terms(document))
        row = slice(self.doc_offsets[document], self.doc_offsets[document + 1])
        weights = [0.0] * len(terms) if self.doc_weights is None else self.doc_weights[row].tolist()
        return TermSet(self.document_id(document), terms, tuple(weights))

    def postings(self, term: int) -> NDArray[np.int32]:
        """Φ(t): the documents that have a term, ascending."""
        return self.post_docs[self.post_offsets[term] : self.post_offsets[term + 1]]

    @cached_property
    def lookup(self) -> Lookup:
        """The lookup of the terms that are words of a query."""
        return self._look_up()

    def query_terms(self, query: str) -> NDArray[np.int32]:
        """The numbers of the terms that are words of a query."""
        keys = self.lookup.keys(query)
        return np.array([number for key in keys for number in self._numbers_of_key(key)], np.int32)

    @cached_property
    def _numbers_of_key(self) -> Callable[[str], tuple[int, ...]]:
        """A key → the numbers of its terms, remembered: people ask for the same words again."""
        terms, find = self.lookup.terms, self.vocabulary.find

        def numbers(key: str) -> tuple[int, ...]:
            return tuple(found for term in terms(key) if (found := find(term)) is not None)

        return lru_cache(2**16)(numbers)

    def nbytes(self) -> dict[str, int]:
        """The bytes of every part in memory when all of it is read."""
        sizes = {name: int(getattr(self, name).nbytes) for name in ARRAYS}
        sizes |= {"vocabulary": self.vocabulary.nbytes, "document_ids": self.documents.nbytes}
        return sizes | {name: int(array.nbytes) for name, array in self._optional().items()}

    def with_vectors(self, doc_vectors: DocumentVectors) -> Self:
        """The same sets with the documents' vectors."""
        other = copy(self)
        other.doc_vectors = doc_vectors
        return other

    def _optional(self) -> dict[str, NDArray[Any]]:
        """The arrays that not all sets have, by name."""
        found: dict[str, NDArray[Any]] = {}
        if self.doc_weights is not None:
            found[WEIGHTS] = self.doc_weights
        if self.doc_vectors is None:
            return found
        vectors = self.doc_vectors
        found = found | {VECTORS: vectors.values, VECTOR_OFFSETS: vectors.offsets}
        return found | {VECTOR_PASSAGES: vectors.passages}

    def save(self, folder: Path) -> None:
        """Write the arrays into an existing folder."""
        for name in ARRAYS:
            save_array(folder, name, getattr(self, name))
        self.vocabulary.save(folder, "vocabulary")
        self.documents.save(folder, "documents")
        for name, array in self._optional().items():
            save_array(folder, name, array)
        SavedKeys.of(self.vocabulary, Splitter(self.words)).save(folder)
        (folder / WORDS).write_bytes(orjson.dumps(self.words.model_dump(mode="json")))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Map the arrays into memory; pages are read when they are needed."""
        arrays: dict[str, Any] = {name: load_array(folder, name) for name in ARRAYS}
        if (folder / f"{WEIGHTS}.npy").exists():
            arrays[WEIGHTS] = load_array(folder, WEIGHTS)
        if (folder / f"{VECTORS}.npy").exists():
            names = VECTOR_OFFSETS, VECTOR_PASSAGES, VECTORS
            arrays[VECTORS] = DocumentVectors(*(load_array(folder, name) for name in names))
        strings = Strings.load(folder, "documents"), Strings.load(folder, "vocabulary")
        try:
            words = WordsConfig.from_mapping(orjson.loads((folder / WORDS).read_bytes()))
        except (OSError, ValueError) as error:
            raise DamagedError(f"{folder / WORDS}: not readable ({error}). {CHECK}") from None
        keys = SavedKeys.load(folder, strings[1])
        found = cls(
            *strings, **arrays, words=words, look_up=lambda: Lookup(Splitter(words), (), keys)
        )
        found._require_consistent(folder)
        return found

    def _require_consistent(self, folder: Path) -> None:
        """Refuse arrays that point outside of one another: compiled kernels index unchecked."""
        entries, own = len(self.doc_terms), [(self.doc_offsets, "doc", len(self.documents))]
        for offsets, name, rows in (*own, (self.post_offsets, "post", len(self.vocabulary))):
            require_offsets(folder / f"{name}_offsets.npy", offsets, rows, entries)
        require_numbers(folder / "doc_terms.npy", self.doc_terms, len(self.vocabulary))
        require_numbers(folder / "post_docs.npy", self.post_docs, len(self.documents))
        weights = self.doc_weights
        if len(self.post_docs) != entries or (weights is not None and weights.shape != (entries,)):
            raise DamagedError(
                f"{folder}: found {len(self.post_docs):,} postings and the weights of another "
                f"number of terms; expected {entries:,} of each. {CHECK}"
            )
        if self.doc_vectors is not None:
            path, vectors = folder / f"{VECTOR_OFFSETS}.npy", self.doc_vectors
            require_offsets(path, vectors.offsets, len(self), len(vectors.values))
            counts = np.diff(vectors.offsets)
            if (
                len(vectors.passages) != len(self)
                or np.any(vectors.passages < 1)
                or np.any(vectors.passages > counts)
            ):
                raise DamagedError(
                    f"{folder / VECTOR_PASSAGES}.npy: found other numbers of passages than the "
                    f"documents have vectors. {CHECK}"
                )


@compiled
def invert(
    doc_offsets: Offsets, doc_terms: NDArray[np.int32], post_offsets: Offsets
) -> NDArray[np.int32]:
    """The documents of each term, ascending, since documents are visited in order."""
    post_docs = np.empty(len(doc_terms), np.int32)
    place = post_offsets.copy()
    for document in range(len(doc_offsets) - 1):
        for at in range(doc_offsets[document], doc_offsets[document + 1]):
            term = doc_terms[at]
            post_docs[place[term]] = document
            place[term] += 1
    return post_docs


# ŵ_D(t): the weights of a document's terms, divided by their sum.


def shares_of(offsets: Offsets, weights: NDArray[np.floating] | None) -> Float32:
    """[E] ŵ_D(t) of all documents, one after the other.

    Args:
        offsets: [D + 1] where the terms of each document begin.
        weights: [E] their weights; None, or 0 for a whole document, gives equal shares.
    """
    sizes = np.diff(offsets)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    kept = np.zeros(len(owner)) if weights is None else weights
    sums = np.bincount(owner, kept, len(sizes))
    none = sums == 0
    kept = np.where(none[owner], 1.0, kept)
    shares: Float32 = (kept / np.where(none, sizes, sums)[owner]).astype(np.float32)
    return shares


def relative_weights(
    offsets: Offsets, terms: NDArray[np.int32], shares: Float32, post_offsets: Offsets
) -> Float32:
    """[E] N ŵ_D(t) in the order of the postings: the weight of the term in each document, divided
    by the mean weight of that document's terms; from the shares [E] in the order of documents."""
    sizes = np.diff(offsets)
    relative = shares * np.repeat(sizes, sizes).astype(np.float32)
    return by_posting(terms, relative, post_offsets)


def by_posting(terms: NDArray[np.int32], values: Float32, post_offsets: Offsets) -> Float32:
    """[E] values in the order of documents, rearranged to the order of the postings."""
    return _by_term(constant(terms), values, constant(post_offsets.astype(np.int64)))


@compiled
def _by_term(terms: NDArray[np.int32], values: Float32, post_offsets: Offsets) -> Float32:
    """[E] values in the order of documents, rearranged to the order of the postings."""
    found = np.empty(len(values), np.float32)
    place = post_offsets.copy()
    for entry in range(len(terms)):
        found[place[terms[entry]]] = values[entry]
        place[terms[entry]] += 1
    return found


# Merging: term sets of a base without some documents, and with others added.
#
# The result is equal to that of `TermSets.of` on the same sets in the same order, without a loop
# over the documents of the base.

Int32 = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class AddedTermSet:
    """A document that is not in the base: its id, T(D) as `Merger.numbers` gives it, the weights of
    its terms, and its vectors, where the base has vectors."""

    id: str
    terms: Int32
    weights: NDArray[np.float32]
    vectors: DocumentVectors | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """Term sets, and the merger's number of each of their terms."""

    sets: TermSets
    terms: Int32  # [V]

    def kept(self, before: "Merged") -> Int32:
        """[V] the number of each term in `before`, a result of the same merger, or −1."""
        place = np.full(max(self.terms.max(initial=-1), before.terms.max(initial=-1)) + 1, -1)
        place[before.terms] = np.arange(len(before.terms))
        return place[self.terms].astype(np.int32)


class Merger:
    """Merges documents into a base. Numbers of terms never change: the base's, then new ones."""

    def __init__(self, base: TermSets) -> None:
        self._base = base
        self._new: list[str] = []
        self._places: list[int] = []  # of the new terms in the base's vocabulary
        self._number: dict[str, int] = {}  # of the terms looked up so far

    def numbers(self, terms: Sequence[str]) -> Int32:
        """The numbers of terms, new ones for those never seen."""
        return np.array([self._number_of(term) for term in terms], np.int32)

    def base(self) -> Merged:
        """The base without changes."""
        return Merged(self._base, np.arange(len(self._base.vocabulary), dtype=np.int32))

    def merge(self, kept: NDArray[np.integer], rows: Sequence[AddedTermSet]) -> Merged:
        """The documents `kept` (ascending numbers) of the base, then `rows`."""
        base = self._base
        lengths = np.diff(base.doc_offsets)[kept].astype(np.int64)
        taken = np.zeros(len(base), np.bool_)
        taken[kept] = True
        entries = np.repeat(taken, np.diff(base.doc_offsets))
        terms = np.concatenate([base.doc_terms[entries], *(row.terms for row in rows)])
        sizes = np.concatenate([lengths, np.array([len(row.terms) for row in rows], np.int64)])
        weights = None
        if base.doc_weights is not None:
            added = (row.weights.astype(np.float16) for row in rows)
            weights = np.concatenate([base.doc_weights[entries], *added])
        vectors = None
        if base.doc_vectors is not None:
            own = [row.vectors for row in rows if row.vectors is not None]
            vectors = base.doc_vectors.take(kept).followed_by(own)
        used, vocabulary = self._used(terms)
        number = np.zeros(len(base.vocabulary) + len(self._new), np.int32)
        number[used] = np.arange(len(used), dtype=np.int32)
        documents = base.documents.take(kept).followed_by(Strings.pack(row.id for row in rows))
        new = tuple(self._new)

        def look_up() -> Lookup:
            return base.lookup.with_terms(new)

        arrays = _inverted(sizes, number[terms], len(vocabulary))
        sets = TermSets(documents, vocabulary, *arrays, weights, base.words, look_up, vectors)
        return Merged(sets, used)

    def _number_of(self, term: str) -> int:
        if term not in self._number:
            place, number = self._base.vocabulary.place(term), self._base.vocabulary.find(term)
            if number is None:
                number = len(self._base.vocabulary) + len(self._new)
                self._new.append(term)
                self._places.append(place)
            self._number[term] = number
        return self._number[term]

    def _used(self, terms: Int32) -> tuple[Int32, Strings]:
        """The terms that occur, in ascending order of spelling, and their spellings."""
        known = len(self._base.vocabulary)
        counts = np.bincount(terms, minlength=known + len(self._new))
        order = np.arange(known)
        sorted_new = sorted(range(len(self._new)), key=self._new.__getitem__)
        places = np.array([self._places[i] for i in sorted_new], np.int64)
        order = np.insert(order, places, known + np.array(sorted_new, np.int64))
        used = order[counts[order] > 0]
        both = self._base.vocabulary.followed_by(Strings.pack(self._new))
        return used.astype(np.int32), both.take(used)


def _inverted(
    sizes: NDArray[np.int64], terms: Int32, vocabulary: int
) -> tuple[Offsets, Int32, Offsets, Int32]:
    """The arrays of sets with `sizes` terms each, over a vocabulary of that many terms."""
    doc_offsets = smallest_offsets(offsets_of(sizes))
    post_offsets = smallest_offsets(offsets_of(np.bincount(terms, minlength=vocabulary)))
    return doc_offsets, terms, post_offsets, invert(doc_offsets, terms, post_offsets)
