"""Writers of queries by name. Each kind is one file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError, nearest
from tsgen.records import Document


class Writer(Protocol):
    """Something that reads documents and writes what people might ask to find them."""

    def write(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        """At most `n` queries for each document, in order; equal calls give equal queries."""
        ...


@dataclass(frozen=True, slots=True)
class WriterKind:
    """How to get a writer of one kind.

    `build(data, config, seed, folder)` may read the corpus, may train, and may keep in `folder`
    what should survive an interruption.
    """

    name: str
    config: type[StageConfig]
    build: Callable[[DataSet, Any, int, Path], Writer]
    trains: bool = False  # on the training judgments, so that its queries depend on them


_FILES = {
    "doct5query": "tsgen.write.doct5query",
    "extractive": "tsgen.write.extractive",
    "local": "tsgen.write.local",
    "smollm2": "tsgen.write.smollm2",
}
_KINDS: dict[str, WriterKind] = {}


def register(kind: WriterKind) -> WriterKind:
    """Add a writer under its name."""
    _KINDS[kind.name] = kind
    return kind


def writer_kind(name: str) -> WriterKind:
    """The writer of that name, or a `ConfigError` with the nearest known one.

    Its file is imported only now, so that a light writer does not pay for heavy libraries.
    """
    if name not in writer_names():
        raise ConfigError(f"unknown writer {name!r}; {nearest(name, writer_names())}")
    if name not in _KINDS:
        import_module(_FILES[name])
    return _KINDS[name]


def writer_names() -> list[str]:
    """All names, in alphabetical order."""
    return sorted({*_KINDS, *_FILES})
