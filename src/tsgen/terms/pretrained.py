"""Pre-trained weights: for documents that no one has asked for yet.

The weigher that comes with the package has learned from other documents and their queries which
words of a text people ask for. What is rare in this collection is mixed in (see `mixed`).
"""

import shutil
from pathlib import Path

from pydantic import Field

from tsgen.artifact import open_artifact
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError
from tsgen.terms.mixed import Mixed
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


register(WeightsKind(NAME, PretrainedConfig, _build, _load))
