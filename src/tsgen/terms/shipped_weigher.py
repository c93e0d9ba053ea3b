"""Pre-trained weights: for documents that no one has asked for yet.

The weigher that comes with the package has learned from other documents and their queries which
words of a text people ask for. What is rare in this collection is mixed in (see `mixed`).
"""

import shutil
from collections.abc import Iterable, Iterator
from itertools import tee
from pathlib import Path

from tsgen.artifact import open_artifact
from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError
from tsgen.records import Document
from tsgen.settings import PretrainedConfig, weigher_hash
from tsgen.terms.weigher import SETTINGS, WEIGHTS, Selector, Weigher
from tsgen.terms.weights import (
    TERM_WEIGHTS,
    TfidfWeights,
    WeightsKind,
    Workspace,
    build_tfidf,
    load_tfidf,
)
from tsgen.terms.words import Splitter

# What is asked for and what is rare: a selector's p(t | D) mixed with tf-idf.
#
#     w(t, D) ∝ p(t | D)^a · tfidf(t, D)^(1 − a),   Σ over D's words = 1
#
# A selector learns which words of a text people ask for, but not how many other documents of the
# collection have them; and a word that is in one document only is what identifies it.


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


NAME, KIND = "pretrained", "pre-trained-weigher"
FOLDER = Path(__file__).parent.parent / "shipped" / "weigher"


class Pretrained(Mixed):
    """The weigher in a folder (the shipped one, or a copy that an engine keeps) with tf-idf."""

    def __init__(
        self, folder: Path, splitter: Splitter, tfidf: TfidfWeights, config: PretrainedConfig
    ) -> None:
        super().__init__(Selector(Weigher.load(folder, splitter)), tfidf, config.share)
        self._folder = folder

    def save(self, folder: Path) -> None:
        """Copy them: what weighs later documents is what weighed these."""
        for name in (WEIGHTS, SETTINGS):
            shutil.copyfile(self._folder / name, folder / name)
        self._rare.save(folder)


def _build(data: DataSet, splitter: Splitter, config: PretrainedConfig, _: Workspace) -> Pretrained:
    open_artifact(FOLDER, KIND)  # checks its files
    if config.sha256 != weigher_hash():
        raise ConfigError(
            f"[pretrained]: sha256 = {config.sha256!r}, but the weigher of this package is "
            f"{weigher_hash()!r}; remove the setting, or install the release that it names."
        )
    return Pretrained(FOLDER, splitter, build_tfidf(data, splitter, config.tfidf), config)


def _load(folder: Path, splitter: Splitter, config: PretrainedConfig) -> Pretrained:
    return Pretrained(folder, splitter, load_tfidf(folder, splitter, config.tfidf), config)


TERM_WEIGHTS.register(WeightsKind(NAME, PretrainedConfig, _build, _load))
