"""GENRE (De Cao et al., 2021): the title is the identifier, generated inside the trie of titles.

The score of a document is log p(title | query). A document without a title has its first words for
one. GENRE has one page a title; here documents that share a title are ranked by BM25 of the query.

Deviations: the score is the sum of log p over the title, not its mean over tokens; the backbone is
that of all generative systems instead of BART.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import Field

from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.model.backbone import tokenizer_of
from tsgen.queries.lexical import LexicalIndex
from tsgen.records import Document, Hit
from tsgen.retrieve.sequence_systems import (
    SequenceConfig,
    SequenceFit,
    SequenceRetriever,
    register_sequences,
    text_ids,
    with_ids,
)
from tsgen.retrieve.systems import Fitted

INDEX = "bm25"


class GENREConfig(SequenceConfig):
    """The settings of a sequence system, and how long identifiers are."""

    longest: int = Field(32, ge=1)
    """Titles are cut off after so many tokens."""

    words: int = Field(8, ge=1)
    """A document without a title has so many first words of its text for an identifier."""


class GENRE:
    """Generation of titles, with BM25 among the documents of one title."""

    def __init__(self, titles: SequenceRetriever, index: LexicalIndex) -> None:
        self.sequences, self._index = titles, index
        self._numbers = titles.generator.ids.document_numbers()
        rows = titles.generator.ids
        shared = Counter(rows.sequence(document).tobytes() for document in range(len(rows)))
        self._largest = max(shared.values(), default=1)

    def search(self, queries: Sequence[str], k: int, beam: int | None = None) -> list[list[Hit]]:
        """At most `k` hits for each query, best first; those of one title by BM25, then in document
        order."""
        # The k-th hit may be one of several documents of a title: all of them are ranked first.
        found = self.sequences.search(queries, k + self._largest - 1, beam)
        return [self._ordered(*one)[:k] for one in zip(queries, found, strict=True)]

    def _ordered(self, query: str, hits: list[Hit]) -> list[Hit]:
        scores = self._index.scores(query) if self._largest > 1 else np.zeros(len(self._numbers))

        def by_words(hit: Hit) -> float:
            return -float(scores[self._numbers[hit.document_id]])

        titles = groupby(hits, key=lambda hit: hit.reason)
        return [hit for _, same in titles for hit in sorted(same, key=by_words)]

    def save(self, folder: Path) -> None:
        """Write the generator, the identifiers and the BM25 index."""
        self.sequences.save(folder)
        _save_index(self._index, folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open what `save` wrote."""
        return cls(SequenceRetriever.load(folder), LexicalIndex.load(folder / INDEX))


def _save_index(index: LexicalIndex, folder: Path) -> None:
    (folder / INDEX).mkdir(exist_ok=True)
    index.save(folder / INDEX)


def title_of(document: Document, words: int) -> str:
    """The document's title, or the first words of its text."""
    return document.title.strip() or " ".join(document.text.split()[:words])


def title_ids(data: DataSet, config: GENREConfig, tokenizer: Any) -> SequenceIds:
    """Give each document its title, in the tokenizer's pieces, as its identifier."""
    documents = [(each.id, title_of(each, config.words)) for each in watched_documents(data)]
    ids, titles = ([one[i] for one in documents] for i in range(2))
    return text_ids(ids, titles, tokenizer, config.longest)


def _fit(data: DataSet, config: GENREConfig, seed: int, folder: Path) -> None:
    def contents() -> Iterator[str]:
        return (document.contents for document in watched_documents(data))

    SequenceFit(data, config, seed, folder).run(lambda t: title_ids(data, config, t))
    _save_index(LexicalIndex.build(contents()), folder)


def _reindex(fitted: Fitted, data: DataSet, _scratch: Path) -> GENRE:
    """The same model over the titles of other documents."""
    ids = title_ids(data, fitted.config, tokenizer_of(fitted.config.model))
    index = LexicalIndex.build(document.contents for document in watched_documents(data))
    return GENRE(with_ids(fitted, ids), index)


register_sequences("genre", GENREConfig, _fit, GENRE.load, _reindex)
