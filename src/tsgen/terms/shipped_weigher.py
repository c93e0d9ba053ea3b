"""The weights `pretrained`: which words of a document people ask for, learned from other documents.

The weigher that comes with the package learned that from other documents and their queries. How
rare each word is in this collection is mixed in (see `tsgen.terms.weigher.Mixed`).
"""

import shutil
from pathlib import Path

from tsgen.artifact import open_artifact
from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError
from tsgen.settings import PretrainedConfig, weigher_hash
from tsgen.terms.weigher import SETTINGS, WEIGHTS, Mixed, Selector, Weigher
from tsgen.terms.weights import (
    TERM_WEIGHTS,
    TfidfWeights,
    WeightsKind,
    Workspace,
    build_tfidf,
    load_tfidf,
)
from tsgen.terms.words import Splitter

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
        """Copy the weigher into a folder, so that documents added later are weighed in the same
        way."""
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
