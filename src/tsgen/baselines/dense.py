"""Dense retrieval without training: the cosine of MiniLM's sentence vectors, searched exactly.

    s(Q, D) = v(Q) · v(D),   v as in `tsgen.terms.sentence_vectors`

This is what the encoder that comes with the package does by itself: the bar for a system that
builds on it. all-MiniLM-L6-v2 was trained on a billion pairs of texts, among them Natural Questions
and other question sets, so on benchmarks made of these it is not zero-shot in the strict sense.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import orjson
from numpy.typing import NDArray

from tsgen.arrays import load_array, save_array
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.model.document_vectors import VECTORS, read_vectors
from tsgen.model.term_vectors import TermVectors
from tsgen.records import Hit
from tsgen.retrieve.systems import SYSTEMS, System
from tsgen.settings import TERM_VECTORS, ModelConfig

IDS, ENCODER = "ids.json", "encoder.json"


class DenseSearchConfig(StageConfig):
    """The encoder, and how much of a text it reads."""

    encoder: str = ModelConfig(backbone=TERM_VECTORS).encoder
    """`minilm`, which comes with the package, or a BERT-like encoder by hub name or folder."""

    document_tokens: int = ModelConfig(backbone=TERM_VECTORS).document_tokens
    """The tokens of a document that are read."""

    def model(self) -> ModelConfig:
        """The settings of a generator that reads texts in this way."""
        sizes = {"encoder": self.encoder, "document_tokens": self.document_tokens}
        return ModelConfig(backbone=TERM_VECTORS, **sizes)


class Dense:
    """Vectors of all documents, and the encoder that reads queries."""

    def __init__(
        self, config: DenseSearchConfig, vectors: NDArray[np.float32], ids: Sequence[str]
    ) -> None:
        """Join the vectors [D, d] with the ids of their documents."""
        self._config, self._vectors, self._ids = config, vectors, ids
        self._reader = TermVectors.create(config.model(), [])

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Find at most `k` documents for each query, nearest first; ties by document number."""
        _, _, read = self._reader.encode(queries)
        scores = read.cpu().numpy() @ self._vectors.T
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return [
            [Hit(self._ids[d], float(row[d])) for d in places]
            for row, places in zip(scores, best, strict=True)
        ]

    def save(self, folder: Path) -> None:
        """Write the vectors, the ids and the settings."""
        save_array(folder, VECTORS, self._vectors)
        (folder / IDS).write_bytes(orjson.dumps(self._ids))
        (folder / ENCODER).write_bytes(orjson.dumps(self._config.model_dump()))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open what `save` wrote."""
        config = DenseSearchConfig.from_mapping(orjson.loads((folder / ENCODER).read_bytes()))
        vectors = load_array(folder, VECTORS).astype(np.float32)
        return cls(config, vectors, orjson.loads((folder / IDS).read_bytes()))


def _fit(data: DataSet, config: DenseSearchConfig, _seed: int, folder: Path) -> None:
    reader = TermVectors.create(config.model(), [])
    vectors = read_vectors(data, config.model(), reader, folder.parent).whole
    Dense(config, vectors, [one.id for one in data.documents()]).save(folder)


SYSTEMS.register(System("dense", DenseSearchConfig, _fit, Dense.load, aside=True))
