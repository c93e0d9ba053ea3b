"""tf-idf weights: no training, two passes over the corpus. The choice for users in a hurry."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.records import Document
from tsgen.terms.impact import Impact
from tsgen.terms.weights import WeightsKind, register
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

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document its distinct words; words of one stem weigh the same."""
        for document in documents:
            yield self._weigh(document)

    def _weigh(self, document: Document) -> dict[str, float]:
        title = self._splitter.spellings(document.title)
        words = title + self._splitter.spellings(document.text)
        keys = [self._splitter.key(word) for word in words]
        first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
        tf: dict[str, float] = dict(Counter(keys))
        for key in keys[: len(title)]:
            tf[key] += self._config.title_weight - 1
        weights = {key: self._weight(key, tf[key], first[key]) for key in tf}
        return {word: weights[key] for word, key in zip(words, keys, strict=True)}

    def _weight(self, key: str, tf: float, first: int) -> float:
        weight = math.sqrt(self._impact.idf(key)) * tf / (tf + self._config.k1)
        return weight / (1 + self._config.lead * math.log1p(first))


def build_tfidf(
    data: DataSet, splitter: Splitter, config: TfidfConfig, seed: int = 0, folder: Path = Path()
) -> TfidfWeights:
    """Count the corpus; nothing is random and nothing is kept on disk."""
    texts = (document.contents for document in data.documents())
    return TfidfWeights(splitter, Impact.count(texts, splitter), config)


register(WeightsKind("tfidf", TfidfConfig, build_tfidf))
