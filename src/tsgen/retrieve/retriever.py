"""What every system is: something that answers queries, and can be saved and loaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, Self

from tsgen.records import Hit


class Retriever(Protocol):
    """BM25, dense and generative systems alike: one table, one server, one command line."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """At most `k` hits for each query, best first; deterministic."""
        ...

    def save(self, folder: Path) -> None:
        """Write everything `load` needs into an existing, empty folder."""
        ...

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read back what `save` wrote."""
        ...
