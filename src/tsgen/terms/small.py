"""Weights to be shipped: in half precision, without the embeddings that come with the encoder."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from tsgen.errors import ConfigError
from tsgen.terms.encoder import load_encoder


def small(weights: Mapping[str, Tensor], embeddings: str, encoder: str) -> dict[str, Tensor]:
    """What training changed. `embeddings` is what the encoder's are called among the weights."""
    original, _ = load_encoder(encoder)
    if not torch.equal(weights[embeddings], original.get_input_embeddings().weight):
        raise ConfigError(
            f"the embeddings of {encoder!r} were trained, so they cannot be left out; expected "
            "them as they were. Train with freeze_embeddings=true."
        )
    changed = sorted(weights.keys() - {embeddings})
    return {name: weights[name].half().contiguous() for name in changed}


def whole(weights: Mapping[str, Tensor], embeddings: str, encoder: Any) -> dict[str, Tensor]:
    """The reverse, with the embeddings of a loaded encoder."""
    full = {name: value.float() for name, value in weights.items()}
    return full | {embeddings: encoder.get_input_embeddings().weight.detach()}
