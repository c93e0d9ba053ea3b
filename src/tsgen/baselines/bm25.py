"""BM25 (the first row of the paper's Table 1), by bm25s over stemmed words of title and text.

    s(Q, D) = Σ_{t ∈ Q} idf(t) · tf(t, D) / (tf(t, D) + k1 · (1 − b + b · |D| / mean |D|))

With `tune`, k1 and b are those of the given ones and of a small grid that have the best M@10 on the
dev queries; of equally good ones the first in the grid's order.

`bm25-terms` is BM25 over nothing but the N terms of each document with the largest tf-idf: what
lexical matching makes of term sets.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Self

import orjson

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.docids.assign import select_terms, terms_folder
from tsgen.errors import DataError
from tsgen.progress import show
from tsgen.queries.lexical import LexicalConfig, LexicalIndex
from tsgen.reciprocal_rank import DEPTH, mean_reciprocal_rank
from tsgen.records import Hit
from tsgen.retrieve.systems import SYSTEMS, Fitted, System
from tsgen.settings import TermsConfig

IDS = "ids.json"
K1, B = (0.6, 0.9, 1.2, 1.5, 2.0), (0.3, 0.5, 0.75, 0.9)  # the grid of `tune`


class BM25Config(LexicalConfig):
    """The settings of lexical search, and whether they are tuned."""

    tune: bool = False
    """Choose k1 and b by M@10 on the dev queries."""


class BM25:
    """Lexical search over the words of all documents."""

    def __init__(self, index: LexicalIndex, ids: Sequence[str]) -> None:
        """Join an index with the ids of its documents, in the index's order."""
        self._index = index
        self._ids = ids

    @classmethod
    def fit(cls, data: DataSet, config: BM25Config) -> Self:
        """Index all documents of a data set in one pass, with `tune` for every k1 and b."""
        ids: list[str] = []

        def contents() -> Iterator[str]:
            for document in data.documents():
                ids.append(document.id)
                yield document.contents

        made = LexicalIndex.build_each(contents(), grid(config))
        if not config.tune:
            return cls(next(made), ids)
        queries, answers = _dev_queries(data)
        best, highest = None, -1.0
        for number, index in enumerate(made, 1):
            hits = cls(index, ids).search(queries, DEPTH)
            documents = [[hit.document_id for hit in found] for found in hits]
            figure = mean_reciprocal_rank(documents, answers)
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
    """The settings to choose from: the given ones, then with `tune` the others of the grid."""
    given = LexicalConfig(**config.model_dump(exclude={"tune"}))
    if not config.tune:
        return [given]
    others = [given.model_copy(update={"k1": k1, "b": b}) for k1, b in product(K1, B)]
    return [given, *(each for each in others if each != given)]


def _dev_queries(data: DataSet) -> tuple[list[str], list[set[str]]]:
    """The texts of the dev split's queries, and the ids of the relevant documents of each."""
    if "dev" not in data.splits:
        raise DataError(
            f"{data.name}: bm25.tune needs judgments named dev; found {', '.join(data.splits)}. "
            "Make some with `tsgen split`, or set bm25.k1 and bm25.b."
        )
    judged = data.judgments("dev")
    relevant = [{id for id, grade in grades.items() if grade > 0} for grades in judged.values()]
    return [data.queries()[query].text for query in judged], relevant


def _fit(data: DataSet, config: BM25Config, _seed: int, folder: Path) -> None:
    BM25.fit(data, config).save(folder)


def _reindex(fitted: Fitted, data: DataSet, _scratch: Path) -> BM25:
    """An index of other documents; nothing of BM25 is learned but its two numbers."""
    return BM25.fit(data, fitted.config.model_copy(update={"tune": False}))


SYSTEMS.register(System("bm25", BM25Config, _fit, BM25.load, trains=True, reindex=_reindex))


class BM25TermsConfig(StageConfig):
    """The settings of BM25 over term sets. Terms are chosen by tf-idf, which needs no queries."""

    n: int = 12
    """Terms of each document."""


def _fit_terms(data: DataSet, config: BM25TermsConfig, seed: int, folder: Path) -> None:
    terms = TermsConfig(weights="tfidf", n=config.n)
    out = terms_folder(data, terms, seed, folder.parent)
    sets = select_terms(data, terms, out, seed, folder.parent)
    texts = (" ".join(sets.term_set(number).terms) for number in range(len(sets)))
    BM25(LexicalIndex.build(texts), list(sets.documents)).save(folder)


SYSTEMS.register(System("bm25-terms", BM25TermsConfig, _fit_terms, BM25.load, aside=True))
