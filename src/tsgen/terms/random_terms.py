"""Random weights: the control of the paper's Table 6. Any word of a document may be its term."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.records import Document
from tsgen.terms.weights import WeightsKind, Workspace, register
from tsgen.terms.words import Splitter

SEED = "seed.txt"


class RandomConfig(StageConfig):
    """Nothing to set: the seed is the stage's."""


class RandomWeights:
    """A weight in [0, 1) from a hash of seed, document id and word: no order has a say in it."""

    def __init__(self, splitter: Splitter, seed: int) -> None:
        self._splitter = splitter
        self._seed = seed

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document its distinct words; words of one stem weigh the same."""
        for document in documents:
            words = set(self._splitter.spellings(document.contents))
            yield {word: self._weight(document.id, self._splitter.key(word)) for word in words}

    def save(self, folder: Path) -> None:
        """Write the seed."""
        (folder / SEED).write_text(f"{self._seed}\n")

    def _weight(self, document_id: str, key: str) -> float:
        text = f"{self._seed}\x00{document_id}\x00{key}".encode()
        return int.from_bytes(blake2b(text, digest_size=3).digest()) / 2**24  # exact in float32


def _build(
    data: DataSet, splitter: Splitter, config: RandomConfig, workspace: Workspace
) -> RandomWeights:
    return RandomWeights(splitter, workspace.seed)


def _load(folder: Path, splitter: Splitter, config: RandomConfig) -> RandomWeights:
    return RandomWeights(splitter, int((folder / SEED).read_text()))


register(WeightsKind("random", RandomConfig, _build, _load))
