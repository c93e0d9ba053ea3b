"""Pre-trained weights: for documents that no one has asked for yet.

The weigher that comes with the package has learned from other documents and their queries which
words of a text people ask for (see `selector`). It needs nothing but the text.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field

from tsgen.artifact import open_artifact
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.records import Document
from tsgen.terms.selector import Selector
from tsgen.terms.weigher import SETTINGS, WEIGHTS, Weigher
from tsgen.terms.weights import Weights, WeightsKind, Workspace, register
from tsgen.terms.words import Splitter

NAME, KIND = "pretrained", "pre-trained-weigher"
FOLDER = Path(__file__).parent.parent / "shipped" / "weigher"


def _hash() -> str:
    """The sha256 of the shipped weights: what is made with them depends on it."""
    _, digest = open_artifact(FOLDER, KIND).files[WEIGHTS]
    return digest


class PretrainedConfig(StageConfig):
    """Which weights they are."""

    sha256: str = Field(default_factory=_hash)


class Pretrained:
    """The weights in a folder: the shipped one, or a copy of it that an engine keeps."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._selector = Selector(Weigher.load(folder))

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document, in order, its distinct words with p(t | D)."""
        return self._selector.weigh(documents)

    def save(self, folder: Path) -> None:
        """Copy them: what weighs later documents is what weighed these."""
        for name in (WEIGHTS, SETTINGS):
            shutil.copyfile(self._folder / name, folder / name)


def _build(_data: DataSet, _splitter: Splitter, _config: StageConfig, _: Workspace) -> Weights:
    open_artifact(FOLDER, KIND)
    return Pretrained(FOLDER)


def _load(folder: Path, *_: object) -> Weights:
    return Pretrained(folder)


register(WeightsKind(NAME, PretrainedConfig, _build, _load))
