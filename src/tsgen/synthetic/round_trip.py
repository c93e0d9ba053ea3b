"""Choosing among written queries: without duplicates, and with those alone that find their
document."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tsgen.artifact import write_beside
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.progress import show
from tsgen.queries.lexical import LexicalIndex
from tsgen.settings import MINILM
from tsgen.terms.encoder import load_encoder
from tsgen.terms.sentence_vectors import sentence_vectors

# The round trip: a query is worth keeping if a retriever finds its document among the first k.
#
# `bm25` wants words in common. `minilm`, the cosine of MiniLM's vectors, also understands a query
# in other words than the document's, but takes a while to read the corpus.

WINDOW = 128  # tokens of a text that MiniLM reads
VECTORS = "vectors.npy"

Bools = NDArray[np.bool_]


class Finder(Protocol):
    """A retriever that says whether queries find given documents."""

    def finds(self, queries: Sequence[str], documents: Sequence[int], k: int) -> Bools:
        """[Q] whether each query's document, given by its position, is among its first k."""
        ...


class LexicalFinder:
    """BM25 as the retriever of the round trip."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._index = LexicalIndex.build(texts)

    def finds(self, queries: Sequence[str], documents: Sequence[int], k: int) -> Bools:
        """[Q] whether BM25 has each query's document among its first k."""
        found, _ = self._index.top_k(queries, k)  # [Q, k]
        right = np.asarray(documents, np.int64).reshape(-1, 1)
        has: Bools = (found == right).any(axis=1)
        return has


class VectorReader:
    """Turns texts into MiniLM's sentence vectors."""

    def __init__(self) -> None:
        self._encoder, self._tokenizer = load_encoder(MINILM)
        self._encoder.eval()

    def vectors(self, texts: Sequence[str], what: str = "") -> NDArray[np.float32]:
        """[T, d] the vectors of texts. `what` is shown as progress, if it is given."""

        def watch(done: int) -> None:
            if what:
                show(what, done, len(texts))

        return sentence_vectors(self._encoder, self._tokenizer, texts, WINDOW, watch)


class DenseFinder:
    """The cosine of MiniLM's vectors as the retriever of the round trip. The documents' vectors are
    kept in `folder` for a call that goes on later."""

    def __init__(self, texts: Iterable[str], folder: Path) -> None:
        self._reader, path = VectorReader(), folder / VECTORS
        if not path.exists():
            what = "reading documents for the round trip"
            vectors = self._reader.vectors(list(texts), what)
            with write_beside(path) as beside, beside.open("wb") as file:
                np.save(file, vectors, allow_pickle=False)
        self._documents = np.load(path, allow_pickle=False)  # [D, d]

    def finds(self, queries: Sequence[str], documents: Sequence[int], k: int) -> Bools:
        """[Q] whether fewer than k documents are nearer to each query than its own document."""
        scores = self._scores(queries)
        own = scores[np.arange(len(queries)), np.asarray(documents, np.int64)]
        nearer: Bools = (scores > own[:, None]).sum(axis=1) < k
        return nearer

    def nearest(self, queries: Sequence[str], k: int) -> NDArray[np.int64]:
        """[Q, k] the nearest documents of each query, nearest first."""
        return np.argsort(-self._scores(queries), axis=1, kind="stable")[:, :k]

    def _scores(self, queries: Sequence[str]) -> NDArray[np.float32]:
        """[Q, D] the cosine of each query and each document."""
        scores: NDArray[np.float32] = self._reader.vectors(queries) @ self._documents.T
        return scores


def _lexical(data: DataSet, folder: Path) -> Finder:
    return LexicalFinder(document.contents for document in watched_documents(data))


def _dense(data: DataSet, folder: Path) -> Finder:
    return DenseFinder((document.contents for document in watched_documents(data)), folder)


FINDERS: dict[str, Callable[[DataSet, Path], Finder]] = {"bm25": _lexical, "minilm": _dense}


_words = re.compile(r"\w+").findall


@dataclass(frozen=True, slots=True)
class KeptQueries:
    """The queries of a document that are kept, and how many of the written ones are not."""

    document: str
    queries: Sequence[str]
    written: int
    duplicates: int  # queries with the words of another one, here or elsewhere
    filtered: int  # queries that did not find the document


def normalise(text: str) -> str:
    """The words of a query in lower case without punctuation: equal for queries that are the
    same."""
    return " ".join(_words(text.casefold()))


def choose(
    rows: Sequence[tuple[str, Sequence[str]]],
    first: int,
    own: Set[str],
    finder: Finder | None,
    k: int,
) -> list[KeptQueries]:
    """Choose the queries of some documents.

    Args:
        rows: The id and the written queries of each document.
        first: The position of the first of these documents in the collection.
        own: The normalised queries of the data set itself, which are left out.
        finder: The retriever of the round trip; None keeps all queries.
        k: A query must find its document among this many.
    """
    fresh = [_distinct(queries, own) for _, queries in rows]
    flat = [(query, first + i) for i, queries in enumerate(fresh) for query in queries]
    found = _found(flat, finder, k)
    kept = []
    for i, (document, written) in enumerate(rows):
        stay = [query for query in fresh[i] if (query, first + i) in found]
        duplicates, filtered = len(written) - len(fresh[i]), len(fresh[i]) - len(stay)
        kept.append(KeptQueries(document, stay, len(written), duplicates, filtered))
    return kept


def once(rows: Iterable[KeptQueries]) -> Iterator[KeptQueries]:
    """Keep a query for the first document that has it, and drop it from all later ones."""
    seen: set[str] = set()
    for row in rows:
        stay = _distinct(row.queries, seen)
        seen.update(map(normalise, stay))
        dropped = len(row.queries) - len(stay)
        yield replace(row, queries=stay, duplicates=row.duplicates + dropped)


def _distinct(queries: Iterable[str], known: Set[str]) -> list[str]:
    """The first query of each normal form, without queries of no words or of a known form."""
    forms: dict[str, str] = {}
    for query in queries:
        forms.setdefault(normalise(query), query)
    return [query for form, query in forms.items() if form and form not in known]


def _found(pairs: Sequence[tuple[str, int]], finder: Finder | None, k: int) -> Set[tuple[str, int]]:
    """The pairs of query and document position that survive the round trip."""
    if finder is None or not pairs:
        return set(pairs)
    queries, documents = zip(*pairs, strict=True)
    return {pair for pair, ok in zip(pairs, finder.finds(queries, documents, k), strict=True) if ok}
