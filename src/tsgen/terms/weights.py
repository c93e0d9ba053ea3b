"""Weights by name: how much each word of a document tells about it. Each kind is one file."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError, nearest
from tsgen.records import Document
from tsgen.terms.words import Splitter


class Weights(Protocol):
    """What selection needs: a weight for each word, today and for the documents of tomorrow."""

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document, in order, its distinct words (surface forms) with weights ≥ 0."""
        ...

    def save(self, folder: Path) -> None:
        """Write into an existing folder what the kind's `load` needs to weigh other documents."""
        ...


@dataclass(frozen=True, slots=True)
class Workspace:
    """What building weights may use: a seed, and a place."""

    seed: int = 0
    cache: Path = Path()  # what other stages can share


@dataclass(frozen=True, slots=True)
class WeightsKind:
    """How to get weights of one kind.

    `build(data, splitter, config, workspace)` may read the corpus, and may train;
    `load(folder, splitter, config)` reads what the weights' `save` wrote.
    """

    name: str
    config: type[StageConfig]
    build: Callable[[DataSet, Splitter, Any, Workspace], Weights]
    load: Callable[[Path, Splitter, Any], Weights]
    trains: bool = False  # uses the training judgments, so the term sets depend on them
    table: str = ""  # of its settings in a file, if that is not its name


_FILES = {
    "control": "tsgen.terms.control",
    "learned": "tsgen.terms.learned",
    "pretrained": "tsgen.terms.pretrained",
    "random": "tsgen.terms.random_terms",
    "tfidf": "tsgen.terms.tfidf",
    "title": "tsgen.terms.title",
}
_KINDS: dict[str, WeightsKind] = {}


def register(kind: WeightsKind) -> WeightsKind:
    """Add weights under their name."""
    _KINDS[kind.name] = kind
    return kind


def weights_kind(name: str) -> WeightsKind:
    """The weights of that name, or a `ConfigError` with the nearest known ones.

    Their file is imported only now, so that light weights do not pay for heavy libraries.
    """
    if name not in weights_names():
        raise ConfigError(f"unknown weights {name!r}; {nearest(name, weights_names())}")
    if name not in _KINDS:
        import_module(_FILES[name])
    return _KINDS[name]


def weights_names() -> list[str]:
    """All names, in alphabetical order."""
    return sorted({*_KINDS, *_FILES})
