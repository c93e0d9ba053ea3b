"""The stage that reads every document into a vector, and the generator that learns from them.

The vectors depend on the documents, the encoder and its window alone, so engines share them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import ARRAYS, load_array, save_array
from tsgen.artifact import in_pieces, remove_pieces, stage, stage_key
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.docids.term_set import TermSets
from tsgen.model.backbone import Backbone, backbone_version
from tsgen.model.generator import Generator
from tsgen.progress import show
from tsgen.records import Document
from tsgen.settings import ModelConfig

KIND, VECTORS = "vectors", "vectors"
PIECE = 1024  # documents a file: what a killed run loses at the most


class VectorsConfig(StageConfig):
    """What the vectors of documents depend on beside the documents."""

    encoder: str
    """The encoder that reads documents."""

    document_tokens: int
    """The tokens of each document that are read."""


def read_vectors(
    data: DataSet, config: ModelConfig, backbone: Backbone, cache: Path
) -> NDArray[np.float32]:
    """The vectors [D, d] that a backbone makes of all documents; they stay in `cache`."""
    settings = VectorsConfig(encoder=config.encoder, document_tokens=config.document_tokens)
    inputs = {"documents": data.fingerprint} | backbone_version(config)
    key = stage_key(KIND, settings.model_dump(mode="json"), inputs, 0)
    folder = cache / f"{KIND}-{key[:12]}"

    def work(partial: Path) -> None:
        size = sum(1 for _ in data.documents())

        def read(piece: Sequence[Document], first: int) -> dict[str, NDArray[Any]]:
            def watch(done: int) -> None:
                show("reading documents", first + done, size)

            found = backbone.document_vectors([one.contents for one in piece], watch)
            return {VECTORS: np.asarray(found, np.float16)}

        pieces = in_pieces(data.documents(), read, partial, PIECE, VECTORS, ARRAYS)
        save_array(partial, VECTORS, np.concatenate([piece[VECTORS] for piece in pieces]))
        remove_pieces(partial, VECTORS)

    stage(folder, work, kind=KIND, config=settings, inputs=inputs, keep_pieces=True)
    return load_array(folder, VECTORS).astype(np.float32)


def learned_generator(
    data: DataSet, config: ModelConfig, sets: TermSets, seed: int, cache: Path
) -> Generator:
    """A generator before any training with queries. A model that keeps a vector of each document
    reads the documents and learns their terms from the vectors; its sets hold the vectors."""
    generator = Generator.new(config, sets, seed)
    if generator.backbone.document_vectors([]) is None:
        return generator
    vectors = read_vectors(data, config, generator.backbone, cache)
    return Generator.of(generator.backbone, sets.with_vectors(vectors)).learned()
