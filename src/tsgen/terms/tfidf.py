"""tf-idf weights: no training, two passes over the corpus. The choice for users in a hurry."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from pydantic import Field

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.progress import show
from tsgen.records import Document
from tsgen.terms.impact import Impact
from tsgen.terms.weights import WeightsKind, Workspace, register
from tsgen.terms.words import Splitter


class TfidfConfig(StageConfig):
    """The shape of the formula. Its figures on development queries are in docs/terms.md."""

    title_weight: float = Field(default=4.0, ge=1)  # a word in the title counts as so many
    k1: float = Field(default=3.0, ge=0)  # how soon repetition stops to count; 0: at once
    lead: float = Field(default=0.0, ge=0)  # how much a late first occurrence costs; 0: nothing


class TfidfWeights:
    """w(t, D) = √idf(t) · tf / (tf + k1) / (1 + lead · ln(1 + first))

    where tf counts a word of the title `title_weight` times and `first` is the number of words
    before t. The root keeps the rarest words, which no query has, from taking all the places.
    Words are counted by stem, so that inflections add up. BM25's length factor is one number for
    all words of a document and hardly changes their order; it is left out.
    """

    def __init__(self, splitter: Splitter, impact: Impact, config: TfidfConfig) -> None:
        self._splitter = splitter
        self._impact = impact
        self._config = config
        self._root_idf = lru_cache(maxsize=2**19)(lambda key: math.sqrt(impact.idf(key)))

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document its distinct words; words of one stem weigh the same."""
        for document in documents:
            yield self._weigh(document)

    def save(self, folder: Path) -> None:
        """Write the document frequencies."""
        self._impact.save(folder)

    def _weigh(self, document: Document) -> dict[str, float]:
        title = self._splitter.spellings(document.title)
        words = title + self._splitter.spellings(document.text)
        counts = Counter(words)
        keys = {word: self._splitter.key(word) for word in counts}
        tf: dict[str, float] = dict.fromkeys(keys.values(), 0.0)
        for word, count in counts.items():
            tf[keys[word]] += count
        for word in title:
            tf[keys[word]] += self._config.title_weight - 1
        weights = {key: self._root_idf(key) * n / (n + self._config.k1) for key, n in tf.items()}
        if self._config.lead:
            self._discount(weights, [keys[word] for word in words])
        return {word: weights[key] for word, key in keys.items()}

    def _discount(self, weights: dict[str, float], keys: Sequence[str]) -> None:
        places = range(len(keys) - 1, -1, -1)
        for key, first in dict(zip(reversed(keys), places, strict=True)).items():
            weights[key] /= 1 + self._config.lead * math.log1p(first)


def build_tfidf(
    data: DataSet, splitter: Splitter, config: TfidfConfig, workspace: Workspace | None = None
) -> TfidfWeights:
    """Count the corpus; nothing is random and nothing is kept on disk."""
    return TfidfWeights(splitter, Impact.count(_contents(data), splitter), config)


def load_tfidf(folder: Path, splitter: Splitter, config: TfidfConfig) -> TfidfWeights:
    """By the document frequencies of the corpus that was counted."""
    return TfidfWeights(splitter, Impact.load(folder), config)


def _contents(data: DataSet) -> Iterator[str]:
    for position, document in enumerate(data.documents()):
        show("counting words", position)
        yield document.contents


register(WeightsKind("tfidf", TfidfConfig, build_tfidf, load_tfidf))
