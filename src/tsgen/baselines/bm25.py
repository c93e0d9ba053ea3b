"""BM25 (the first row of the paper's Table 1), by bm25s over stemmed words of title and text.

With `tune`, k1 and b are those of a small grid (and the ones given) that have the best M@10 on the
dev queries; the first of equals, in the grid's order.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Self

import orjson
from pydantic import Field

from tsgen.config import StageConfig, unset
from tsgen.corpus.dataset import DataSet
from tsgen.docids.assign import select_terms, terms_folder
from tsgen.errors import DataError
from tsgen.progress import show
from tsgen.queries.lexical import LexicalConfig, LexicalIndex
from tsgen.records import Hit
from tsgen.retrieve.systems import SYSTEMS, System
from tsgen.settings import TermsConfig

IDS = "ids.json"


K1, B = (0.6, 0.9, 1.2, 1.5, 2.0), (0.3, 0.5, 0.75, 0.9)
DEPTH = 10


class BM25Config(LexicalConfig):
    """BM25's settings are those of lexical search."""

    tune: bool = Field(False, exclude_if=unset)  # k1 and b on dev


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

        made = LexicalIndex.build_each(contents(), grid(config))
        if not config.tune:
            return cls(next(made), ids)
        queries, answers = _dev(data)
        best, highest = None, -1.0
        for number, index in enumerate(made, 1):
            figure = _reciprocal_rank(cls(index, ids).search(queries, DEPTH), answers)
            show("tuning k1 and b", number, len(grid(config)), f"M@10 {figure:.3f}")
            if figure > highest:
                best, highest = index, figure
        assert best is not None
        return cls(best, ids)

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


def grid(config: BM25Config) -> list[LexicalConfig]:
    """The settings to choose from: the given ones first, then the grid with `tune`."""
    given = LexicalConfig(**config.model_dump(exclude={"tune"}))
    if not config.tune:
        return [given]
    others = [given.model_copy(update={"k1": k1, "b": b}) for k1, b in product(K1, B)]
    return [given, *(each for each in others if each != given)]


def _dev(data: DataSet) -> tuple[list[str], list[set[str]]]:
    """The queries of the dev split, and the documents that answer each."""
    if "dev" not in data.splits:
        raise DataError(
            f"{data.name}: bm25.tune needs judgments named dev; found {', '.join(data.splits)}. "
            "Make some with `tsgen split`, or set bm25.k1 and bm25.b."
        )
    judged = data.judgments("dev")
    right = [{document for document, grade in row.items() if grade > 0} for row in judged.values()]
    return [data.queries()[query].text for query in judged], right


def _reciprocal_rank(found: Sequence[Sequence[Hit]], answers: Sequence[set[str]]) -> float:
    """M@10."""
    total = 0.0
    for hits, right in zip(found, answers, strict=True):
        ranks = (rank for rank, hit in enumerate(hits, 1) if hit.document_id in right)
        total += 1 / next(ranks, float("inf"))
    return total / max(len(found), 1)


def _fit(data: DataSet, config: BM25Config, _seed: int, folder: Path) -> None:
    BM25.fit(data, config).save(folder)


SYSTEMS.register(System("bm25", BM25Config, _fit, BM25.load, trains=True))


# BM25 over nothing but the N terms of each document: what lexical matching makes of term sets.


class BM25TermsConfig(StageConfig):
    """The terms are those with the largest tf-idf, which needs no queries."""

    n: int = 12


def _fit_terms(data: DataSet, config: BM25TermsConfig, seed: int, folder: Path) -> None:
    terms = TermsConfig(weights="tfidf", n=config.n)
    out = terms_folder(data, terms, seed, folder.parent)
    sets = select_terms(data, terms, out, seed, folder.parent)
    texts = (" ".join(sets.term_set(number).terms) for number in range(len(sets)))
    BM25(LexicalIndex.build(texts), list(sets.documents)).save(folder)


SYSTEMS.register(System("bm25-terms", BM25TermsConfig, _fit_terms, BM25.load, aside=True))
