"""BM25 (the first row of the paper's Table 1), by bm25s over stemmed words of title and text."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import orjson

from tsgen.corpus.dataset import DataSet
from tsgen.queries.lexical import LexicalConfig, LexicalIndex
from tsgen.records import Hit
from tsgen.retrieve.registry import System, register

IDS = "ids.json"


class BM25Config(LexicalConfig):
    """BM25's settings are those of lexical search."""


class BM25:
    """A retriever over a lexical index and the ids of its documents, in index order."""

    def __init__(self, index: LexicalIndex, ids: Sequence[str]) -> None:
        self._index = index
        self._ids = ids

    @classmethod
    def fit(cls, data: DataSet, config: BM25Config) -> Self:
        """Index all documents of a data set in one pass."""
        ids: list[str] = []

        def contents() -> Iterator[str]:
            for document in data.documents():
                ids.append(document.id)
                yield document.contents

        return cls(LexicalIndex.build(contents(), config), ids)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """At most `k` documents that share a word with the query, best first."""
        positions, scores = self._index.top_k(queries, k)
        return [
            [Hit(self._ids[p], s) for p, s in zip(row, values, strict=True) if p >= 0]
            for row, values in zip(positions.tolist(), scores.tolist(), strict=True)
        ]

    def save(self, folder: Path) -> None:
        """Write the index and the ids."""
        self._index.save(folder)
        (folder / IDS).write_bytes(orjson.dumps(self._ids))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open what `save` wrote."""
        return cls(LexicalIndex.load(folder), orjson.loads((folder / IDS).read_bytes()))


def _fit(data: DataSet, config: BM25Config, _seed: int, folder: Path) -> None:
    BM25.fit(data, config).save(folder)


register(System("bm25", BM25Config, _fit, BM25.load))
