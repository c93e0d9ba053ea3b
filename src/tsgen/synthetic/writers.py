"""The registry of query writers, and what a writer must offer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.records import Document
from tsgen.registry import Registry


class Writer(Protocol):
    """Reads documents and writes queries that people might find them with."""

    def write(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        """At most `n` queries for each document, in order; equal calls give equal queries."""
        ...


@dataclass(frozen=True, slots=True)
class WriterKind:
    """How to get a query writer of one kind.

    `build(data, config, seed, folder)` may read the corpus, may train, and may keep in `folder`
    what should survive an interruption.
    """

    name: str
    config: type[StageConfig]
    build: Callable[[DataSet, Any, int, Path], Writer]
    trains: bool = False  # uses the training judgments, so that its queries depend on them
    reads: tuple[str, ...] = ()  # other splits whose judgments it uses


WRITERS: Registry[WriterKind] = Registry(
    "writer",
    "tsgen.writers",
    {
        "doct5query": "tsgen.synthetic.doct5query",
        "extractive": "tsgen.synthetic.extractive",
        "local": "tsgen.synthetic.local_writer",
        "released": "tsgen.synthetic.released",
        "smollm2": "tsgen.synthetic.smollm2",
    },
)
