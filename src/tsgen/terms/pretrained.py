"""Pre-trained weights: for documents that no one has asked for yet.

The weigher that comes with the package has learned from other documents and their queries which
words of a text people ask for (see `selector`). What it cannot know is how rare a word is in this
collection, and a name that is in one document only is what identifies it:

    w(t, D) ∝ p(t | D)^a · tfidf(t, D)^(1 − a),   Σ over D's words = 1
"""

import shutil
from collections.abc import Iterable, Iterator
from itertools import tee
from pathlib import Path

from pydantic import Field

from tsgen.artifact import open_artifact
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.records import Document
from tsgen.terms.selector import Selector
from tsgen.terms.tfidf import TfidfConfig, TfidfWeights, build_tfidf, load_tfidf
from tsgen.terms.weigher import SETTINGS, WEIGHTS, Weigher
from tsgen.terms.weights import WeightsKind, Workspace, register
from tsgen.terms.words import Splitter

NAME, KIND = "pretrained", "pre-trained-weigher"
FOLDER = Path(__file__).parent.parent / "shipped" / "weigher"


def weigher_hash() -> str:
    """The sha256 of the shipped weights: what is made with them depends on it."""
    _, digest = open_artifact(FOLDER, KIND).files[WEIGHTS]
    return digest


class PretrainedConfig(StageConfig):
    """How much the weigher says beside tf-idf, and which weights it has."""

    share: float = Field(default=0.25, gt=0, le=1)  # a
    tfidf: TfidfConfig = TfidfConfig()
    sha256: str = Field(default_factory=weigher_hash)


class Pretrained:
    """The weigher in a folder (the shipped one, or a copy that an engine keeps) with tf-idf."""

    def __init__(
        self, folder: Path, splitter: Splitter, tfidf: TfidfWeights, config: PretrainedConfig
    ) -> None:
        self._folder, self._tfidf, self._share = folder, tfidf, config.share
        self._selector = Selector(Weigher.load(folder, splitter))

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document, in order, its distinct words with their weights."""
        first, second = tee(documents)
        for asked, told in zip(self._selector.weigh(first), self._tfidf.weigh(second), strict=True):
            yield self._mixed(asked, told)

    def _mixed(self, asked: dict[str, float], told: dict[str, float]) -> dict[str, float]:
        a = self._share
        weights = {word: p**a * told[word] ** (1 - a) for word, p in asked.items()}
        total = sum(weights.values()) or 1.0
        return {word: weight / total for word, weight in weights.items()}

    def save(self, folder: Path) -> None:
        """Copy them: what weighs later documents is what weighed these."""
        for name in (WEIGHTS, SETTINGS):
            shutil.copyfile(self._folder / name, folder / name)
        self._tfidf.save(folder)


def _build(data: DataSet, splitter: Splitter, config: PretrainedConfig, _: Workspace) -> Pretrained:
    open_artifact(FOLDER, KIND)  # checks the hash
    return Pretrained(FOLDER, splitter, build_tfidf(data, splitter, config.tfidf), config)


def _load(folder: Path, splitter: Splitter, config: PretrainedConfig) -> Pretrained:
    return Pretrained(folder, splitter, load_tfidf(folder, splitter, config.tfidf), config)


register(WeightsKind(NAME, PretrainedConfig, _build, _load))
