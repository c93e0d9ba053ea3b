"""The weigher as a retriever of its own: s(Q, D) = Σ_w ŵ_Q(w) · ŵ_D(w) over all words w of both.

The weigher is the model that chooses T(D), the terms of a document's set. Here its weights of all
words of a document are searched, not only those in T(D), as UniCOIL searches tokens.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import orjson
from scipy import sparse

from tsgen.baselines._sparse import Postings
from tsgen.corpus.dataset import DataSet
from tsgen.progress import show
from tsgen.records import Document, Hit
from tsgen.retrieve.systems import SYSTEMS, System
from tsgen.settings import LearnedConfig, WordsConfig
from tsgen.terms.weigher import Weigher
from tsgen.terms.weigher_training import trained_weigher
from tsgen.terms.words import Splitter

WORDS = "words.json"


class WeigherSystemConfig(LearnedConfig):
    """The settings of a trained weigher, and how texts are split into words."""

    words: WordsConfig = WordsConfig()
    """How a text becomes words."""


class WeigherRetriever:
    """A weigher and the weights of all words in all documents, searched exactly."""

    def __init__(self, weigher: Weigher, words: Sequence[str], postings: Postings) -> None:
        self._weigher = weigher
        self._words = {word: number for number, word in enumerate(words)}
        self._postings = postings

    @classmethod
    def fit(cls, data: DataSet, weigher: Weigher) -> Self:
        """Weigh the words of every document of the data set."""
        ids: list[str] = []
        numbers: dict[str, int] = {}
        rows, columns, values = [], [], []
        for position, weights in enumerate(weigher.weigh(_noting_ids(data, ids))):
            for key, weight in _by_key(weigher.splitter, weights).items():
                rows.append(numbers.setdefault(key, len(numbers)))
                columns.append(position)
                values.append(weight)
            show("weighing documents", position + 1)
        shape = (len(numbers), len(ids))
        table = sparse.coo_array((np.asarray(values, np.float32), (rows, columns)), shape=shape)
        return cls(weigher, list(numbers), Postings(ids, table.tocsr()))

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The `k` documents of highest s(Q, D) > 0, ties in document order."""
        weighed = [
            _by_key(self._weigher.splitter, weights)
            for weights in self._weigher.weigh_queries(queries)
        ]
        return [self._best(weights, k) for weights in weighed]

    def _best(self, query: dict[str, float], k: int) -> list[Hit]:
        known = [(self._words[key], weight) for key, weight in query.items() if key in self._words]
        return self._postings.best([row for row, _ in known], [weight for _, weight in known], k)

    def save(self, folder: Path) -> None:
        """Write the weigher and the weights of all documents."""
        (folder / "weigher").mkdir(exist_ok=True)
        self._weigher.save(folder / "weigher")
        (folder / WORDS).write_bytes(orjson.dumps(list(self._words)))
        self._postings.save(folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open what `save` wrote."""
        words = orjson.loads((folder / WORDS).read_bytes())
        return cls(Weigher.load(folder / "weigher"), words, Postings.load(folder))


def _by_key(splitter: Splitter, weights: dict[str, float]) -> dict[str, float]:
    """Join the words of one stem, which keeps the largest of their weights."""
    pooled: dict[str, float] = {}
    for word, weight in weights.items():
        key = splitter.key(word)
        pooled[key] = max(weight, pooled.get(key, 0.0))
    return pooled


def _noting_ids(data: DataSet, ids: list[str]) -> Iterator[Document]:
    for document in data.documents():
        ids.append(document.id)
        yield document


def _fit(data: DataSet, config: WeigherSystemConfig, seed: int, folder: Path) -> None:
    learned = LearnedConfig(model=config.model, training=config.training)
    trained = trained_weigher(data, Splitter(config.words), learned, seed, folder.parent)
    WeigherRetriever.fit(data, Weigher.load(trained)).save(folder)


SYSTEMS.register(
    System("weigher", WeigherSystemConfig, _fit, WeigherRetriever.load, trains=True, aside=True)
)
