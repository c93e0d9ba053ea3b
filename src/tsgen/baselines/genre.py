"""GENRE (De Cao et al., 2021): the title is the identifier, generated inside the trie of titles.

Documents that share a title are found together; among them BM25 of the query decides, where GENRE
has one page a title. A document without a title has its first words.

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
from tsgen.queries.lexical import LexicalIndex
from tsgen.records import Document, Hit
from tsgen.retrieve.sequence_systems import (
    SequenceConfig,
    SequenceFit,
    SequenceRetriever,
    register_sequences,
    text_ids,
)

INDEX = "bm25"


class GENREConfig(SequenceConfig):
    """How much of a title counts."""

    longest: int = Field(32, ge=1)  # tokens
    words: int = Field(8, ge=1)  # of the text, for a document without a title


class GENRE:
    """Titles by generation, and BM25 between the documents of one title."""

    def __init__(self, titles: SequenceRetriever, index: LexicalIndex) -> None:
        self.sequences, self._index = titles, index
        self._numbers = titles.generator.ids.document_numbers()
        rows = titles.generator.ids
        shared = Counter(rows.sequence(document).tobytes() for document in range(len(rows)))
        self._most = max(shared.values(), default=1)

    def search(self, queries: Sequence[str], k: int, beam: int | None = None) -> list[list[Hit]]:
        """At most `k` hits for each query; those of one title by BM25, then in document order."""
        # The last title may be cut off: all its documents are looked at before k are taken.
        found = self.sequences.search(queries, k + self._most - 1, beam)
        return [self._ordered(*one)[:k] for one in zip(queries, found, strict=True)]

    def _ordered(self, query: str, hits: list[Hit]) -> list[Hit]:
        scores = self._index.scores(query) if self._most > 1 else np.zeros(len(self._numbers))

        def by_words(hit: Hit) -> float:
            return -float(scores[self._numbers[hit.document_id]])

        titles = groupby(hits, key=lambda hit: hit.reason)
        return [hit for _, same in titles for hit in sorted(same, key=by_words)]

    def save(self, folder: Path) -> None:
        """Write both parts."""
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
    """The title, or the first words."""
    return document.title.strip() or " ".join(document.text.split()[:words])


def title_ids(data: DataSet, config: GENREConfig, tokenizer: Any) -> SequenceIds:
    """The title of each document in the tokenizer's pieces."""
    documents = [(each.id, title_of(each, config.words)) for each in watched_documents(data)]
    ids, titles = ([one[i] for one in documents] for i in range(2))
    return text_ids(ids, titles, tokenizer, config.longest)


def _fit(data: DataSet, config: GENREConfig, seed: int, folder: Path) -> None:
    def contents() -> Iterator[str]:
        return (document.contents for document in watched_documents(data))

    SequenceFit(data, config, seed, folder).run(lambda t: title_ids(data, config, t))
    _save_index(LexicalIndex.build(contents()), folder)


register_sequences("genre", GENREConfig, _fit, GENRE.load)
