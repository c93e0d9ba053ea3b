"""What is asked for and what is rare: a selector's p(t | D) mixed with tf-idf.

    w(t, D) ∝ p(t | D)^a · tfidf(t, D)^(1 − a),   Σ over D's words = 1

A selector learns which words of a text people ask for, but not how many other documents of the
collection have them; and a word that is in one document only is what identifies it.
"""

from collections.abc import Iterable, Iterator
from itertools import tee

from tsgen.records import Document
from tsgen.terms.selector import Selector
from tsgen.terms.tfidf import TfidfWeights


class Mixed:
    """Both weights as one; `share` is a."""

    def __init__(self, asked: Selector, rare: TfidfWeights, share: float) -> None:
        self._asked, self._rare, self._share = asked, rare, share

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document, in order, its distinct words with their weights."""
        first, second = tee(documents)
        for asked, rare in zip(self._asked.weigh(first), self._rare.weigh(second), strict=True):
            yield self._mixed(asked, rare)

    def _mixed(self, asked: dict[str, float], rare: dict[str, float]) -> dict[str, float]:
        a = self._share
        weights = {word: p**a * rare[word] ** (1 - a) for word, p in asked.items()}
        total = sum(weights.values()) or 1.0
        return {word: weight / total for word, weight in weights.items()}
