"""The writer `extractive`: queries cut out of the documents themselves, without any model.

A document gives its title and headings; its first sentence and its most specific sentences, by the
mean tf-idf weight of their words; and bags of a few of its heaviest words.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import chain, islice, zip_longest
from pathlib import Path

import numpy as np

from tsgen.corpus.dataset import DataSet
from tsgen.queries.pairs import headings, sentences
from tsgen.records import Document
from tsgen.settings import ExtractiveConfig, TfidfConfig
from tsgen.synthetic.writers import WRITERS, WriterKind
from tsgen.terms.weights import TfidfWeights, build_tfidf
from tsgen.terms.words import Splitter

HEAVIEST = 12  # words of a document that its bags are drawn from


class Extractive:
    """Writes titles and headings first, then sentences and bags of words in turn."""

    def __init__(self, splitter: Splitter, weights: TfidfWeights, config: ExtractiveConfig) -> None:
        self._splitter, self._weights, self._config = splitter, weights, config

    def write(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        """Write n different queries for each document; only the bags of words depend on the
        seed."""
        weighed = zip(documents, self._weights.weigh(documents), strict=True)
        return [
            list(islice(dict.fromkeys(self._queries(document, weights, seed, n)), n))
            for document, weights in weighed
        ]

    def _queries(
        self, document: Document, weights: dict[str, float], seed: int, n: int
    ) -> Iterator[str]:
        rng = np.random.default_rng((seed, _number(document.id)))
        yield from filter(None, (document.title.strip(), *headings(document.text)))
        turns = zip_longest(self._sentences(document.text, weights), self._bags(weights, rng, n))
        yield from filter(None, chain.from_iterable(turns))

    def _sentences(self, text: str, weights: dict[str, float]) -> Iterator[str]:
        """The first sentence, then the others by falling mean weight of their words."""
        found = [part for part in sentences(text) if self._splitter.spellings(part)]
        lead, *rest = found or [""]
        rest.sort(key=lambda sentence: -self._mean(sentence, weights))  # equal ones in text order
        yield from (self._cut(sentence, weights) for sentence in (lead, *rest))

    def _mean(self, sentence: str, weights: dict[str, float]) -> float:
        words = self._splitter.spellings(sentence)
        return sum(weights.get(word, 0.0) for word in words) / max(len(words), 1)

    def _cut(self, sentence: str, weights: dict[str, float]) -> str:
        """The run of consecutive words with the largest mean weight, as long as the settings
        allow."""
        words, length = sentence.split(), self._config.words
        starts = range(max(len(words) - length, 0) + 1)
        stretches = (" ".join(words[start : start + length]) for start in starts)
        return max(stretches, key=lambda part: self._mean(part, weights)).rstrip(".;,:")

    def _bags(
        self, weights: dict[str, float], rng: np.random.Generator, count: int
    ) -> Iterator[str]:
        """Draw `count` bags of two or more of the heaviest words, in the order of the text."""
        order = {word: place for place, word in enumerate(weights)}
        heaviest = sorted(weights, key=lambda word: (-weights[word], order[word]))
        heaviest = heaviest[:HEAVIEST]
        for _ in range(count if heaviest else 0):
            most = min(self._config.keywords, len(heaviest))
            size = int(rng.integers(min(2, most), most + 1))
            chosen = rng.choice(len(heaviest), size, replace=False)
            yield " ".join(sorted((heaviest[i] for i in chosen), key=order.__getitem__))


def _number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest())


def _build(data: DataSet, config: ExtractiveConfig, seed: int, folder: Path) -> Extractive:
    splitter = Splitter()
    return Extractive(splitter, build_tfidf(data, splitter, TfidfConfig()), config)


WRITERS.register(WriterKind("extractive", ExtractiveConfig, _build))
