"""Term sets as DocIDs: T(D) of every document and its inverse, the postings Φ, as mapped arrays."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
from numba import njit
from numpy.typing import NDArray

from tsgen.records import TermSet
from tsgen.terms.arrays import load_array, offsets_of, save_array, smallest_offsets
from tsgen.terms.lookup import Lookup
from tsgen.terms.strings import Offsets, Strings
from tsgen.terms.words import Splitter, WordsConfig

ARRAYS = ("doc_offsets", "doc_terms", "post_offsets", "post_docs")
WEIGHTS = "doc_weights"
WORDS = "words.json"


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
    ) -> None:
        """`words` is how texts were split into what terms are chosen from; `look_up` makes the
        lookup, if there is a faster way than to read the vocabulary."""
        self.documents = documents
        self.vocabulary = vocabulary
        self.doc_offsets = doc_offsets  # [D + 1]
        self.doc_terms = doc_terms  # [E]
        self.post_offsets = post_offsets  # [V + 1]
        self.post_docs = post_docs  # [E]
        self.doc_weights = doc_weights  # [E]
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
        """From sets over any list of distinct spellings; those that no set uses are dropped."""
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
        """From records, in their order."""
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
        """Which terms the words of a query are."""
        return self._look_up()

    def asked(self, query: str) -> NDArray[np.int32]:
        """The numbers of the terms that are words of a query."""
        found = map(self.vocabulary.find, self.lookup(query))
        return np.array([term for term in found if term is not None], np.int32)

    def nbytes(self) -> dict[str, int]:
        """The size of every part in memory, when all of it is read."""
        sizes = {name: int(getattr(self, name).nbytes) for name in ARRAYS}
        sizes |= {"vocabulary": self.vocabulary.nbytes, "document_ids": self.documents.nbytes}
        return sizes | ({} if self.doc_weights is None else {WEIGHTS: self.doc_weights.nbytes})

    def save(self, folder: Path) -> None:
        """Write the arrays into an existing folder."""
        for name in ARRAYS:
            save_array(folder, name, getattr(self, name))
        self.vocabulary.save(folder, "vocabulary")
        self.documents.save(folder, "documents")
        if self.doc_weights is not None:
            save_array(folder, WEIGHTS, self.doc_weights)
        (folder / WORDS).write_bytes(orjson.dumps(self.words.model_dump(mode="json")))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Map the arrays into memory; pages are read when they are needed."""
        arrays: dict[str, Any] = {name: load_array(folder, name) for name in ARRAYS}
        if (folder / f"{WEIGHTS}.npy").exists():
            arrays[WEIGHTS] = load_array(folder, WEIGHTS)
        strings = Strings.load(folder, "documents"), Strings.load(folder, "vocabulary")
        path = folder / WORDS  # sets that were written before it was kept are without
        words = WordsConfig.from_mapping(orjson.loads(path.read_bytes())) if path.exists() else None
        return cls(*strings, **arrays, words=words)


@njit(cache=True)
def invert(
    doc_offsets: Offsets, doc_terms: NDArray[np.int32], post_offsets: Offsets
) -> NDArray[np.int32]:
    """The documents of each term, ascending: documents are met in order, each goes to its place."""
    post_docs = np.empty(len(doc_terms), np.int32)
    place = post_offsets.copy()
    for document in range(len(doc_offsets) - 1):
        for at in range(doc_offsets[document], doc_offsets[document + 1]):
            term = doc_terms[at]
            post_docs[place[term]] = document
            place[term] += 1
    return post_docs
