"""The term vectors of a saved model, as a search without a beam needs them: mapped, not loaded.

`TermVectors.save` writes e(t) of all terms in half precision. A search reads the few rows that its
hits have, and neither torch nor the rest of the model.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tsgen.errors import ArtifactError
from tsgen.settings import ModelConfig

CONFIG_FILE, WEIGHTS_FILE = "term-vectors.json", "term-vectors.safetensors"
DOCUMENTS = "documents"  # the folder of the encoder of documents, where that of queries was trained
VECTORS, SCALE = "vectors", "scale"

Float32 = NDArray[np.float32]
Int32 = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class TermTable:
    """e(t) of every term t, and the scale of p(t | Q) = softmax_t(scale · e(t) · v(Q))."""

    vectors: NDArray[np.float16]  # [V', d] of the terms that were saved
    scale: float
    rows: Int32 | None = None  # [V] the row of each term or −1; None: that of its own number

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map the vectors that a model saved into a folder."""
        settings = _settings(folder)
        return cls(_mapped(folder / WEIGHTS_FILE, VECTORS), settings[SCALE])

    def with_terms(self, rows: Int32) -> Self:
        """The table of other terms [V]: the row of each in this one or, for a new term, −1."""
        return replace(self, rows=rows)

    def of(self, terms: NDArray[np.integer]) -> Float32:
        """The vectors [n, d] of terms by number; zeros for those that were never learned."""
        if self.rows is None:
            return np.asarray(self.vectors[terms], np.float32)
        rows = self.rows[terms]
        found = np.zeros((len(rows), self.vectors.shape[1]), np.float32)
        found[rows >= 0] = self.vectors[rows[rows >= 0]]
        return found

    def log_probs(self, terms: NDArray[np.integer], query: Float32) -> Float32:
        """log p [n] of some terms as the first one, among themselves, for a query's vector [d]."""
        logits = self.scale * (self.of(terms) @ query)
        highest = logits.max(initial=-np.inf)
        found: Float32 = logits - highest - np.log(np.exp(logits - highest).sum())
        return found


def saved_config(folder: Path) -> tuple[ModelConfig, float]:
    """The settings of a saved model, and its scale."""
    settings = _settings(folder)
    scale: float = settings.pop(SCALE)
    return ModelConfig.from_mapping(settings, source=f"{folder / CONFIG_FILE}"), scale


def not_a_model(folder: Path, error: Exception) -> ArtifactError:
    """The error for a folder whose files cannot be read."""
    return ArtifactError(
        f"{folder}: not a saved generator of term vectors ({error}). Make the engine again."
    )


def _settings(folder: Path) -> dict[str, Any]:
    try:
        settings = json.loads((folder / CONFIG_FILE).read_text())
        return dict(settings) | {SCALE: float(settings[SCALE])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise not_a_model(folder, error) from None


def _mapped(path: Path, name: str) -> NDArray[np.float16]:
    """Map one tensor of a safetensors file: a header of JSON behind its length, then the data."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            entry = json.loads(file.read(length))[name]
        if entry["dtype"] != "F16":
            raise ValueError(f"{name} in {entry['dtype']}, expected F16")
        start, shape = entry["data_offsets"][0], tuple(entry["shape"])
        if 0 in shape:  # which cannot be mapped
            return np.zeros(shape, np.float16)
        return np.memmap(path, np.float16, "r", 8 + length + start, shape)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise not_a_model(path.parent, error) from None
