"""What differs between families of models in transformers, in one place.

A model is taken apart into what reads the query, the decoder, its embeddings and output layer and
the step before that; and decoders that take no positions get each row's own, because one batch
holds prefixes of different lengths.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from tsgen.errors import ConfigError

SUPPORTED = (
    "the T5 family, the BART family (absolute positions), BERT2BERT, or a causal language model "
    "whose layers all attend (Llama, Qwen, GPT-2, …)"
)


@dataclass(frozen=True, slots=True)
class Parts:
    """The pieces of one model."""

    encoder: nn.Module  # reads queries; in a decoder-only model the decoder itself
    bridge: Callable[[Tensor], Tensor]  # encoder states → what the decoder reads
    decoder: nn.Module
    embeddings: nn.Embedding  # of the decoder
    finishes: tuple[Callable[[Tensor], Tensor], ...]  # decoder states → input of the output layer
    output: nn.Linear
    bias: Callable[[], Tensor | None]  # [V]; asked for each time, because buffers may move


def encoder_decoder_parts(model: Any) -> Parts:
    """The pieces of an encoder-decoder of a known family."""
    if model.config.model_type == "encoder-decoder":
        return _from_two(model)
    decoder, output = model.get_decoder(), model.get_output_embeddings()
    scale = output.in_features**-0.5  # T5 multiplies by it, T5 1.1 does not
    return Parts(
        model.get_encoder(),
        _same,
        decoder,
        decoder.get_input_embeddings(),
        (_same, lambda states: states * scale),
        output,
        lambda: _bart_bias(model),
    )


def causal_parts(model: Any) -> Parts:
    """The pieces of a decoder-only language model."""
    decoder, output, config = model.base_model, model.get_output_embeddings(), model.config
    scale = getattr(config, "logit_scale", 1.0) / getattr(config, "logits_scaling", 1.0)
    return Parts(
        decoder,
        _same,
        decoder,
        decoder.get_input_embeddings(),
        (_same, lambda states: states * scale),
        output,
        lambda: output.bias,
    )


def _same(states: Tensor) -> Tensor:
    return states


def _bart_bias(model: Any) -> Tensor | None:
    """BART adds a bias after its output layer."""
    shift: Tensor | None = getattr(model, "final_logits_bias", None)
    bias: Tensor | None = model.get_output_embeddings().bias
    return bias if shift is None else shift[0]


def _from_two(model: Any) -> Parts:
    """BERT2BERT: two models side by side, the second with a language-model head."""
    head = getattr(getattr(model.decoder, "cls", None), "predictions", None)
    if head is None:
        raise unsupported(model.decoder)
    model.encoder.pooler = None  # made for whole sentences, never used here
    decoder, output = model.decoder.base_model, model.decoder.get_output_embeddings()
    finish = head.transform.__call__  # a bound method, so that nobody registers its weights again
    return Parts(
        model.encoder,
        getattr(model, "enc_to_dec_proj", _same),
        decoder,
        decoder.get_input_embeddings(),
        (finish,),
        output,
        lambda: output.bias,
    )


def unsupported(model: Any) -> ConfigError:
    """The error for a model whose decoder tsgen cannot drive."""
    return ConfigError(
        f"backbone {type(model).__name__}: its decoder is of a kind tsgen cannot step through; "
        f"expected {SUPPORTED}. Use one of those, or `mini`."
    )


class RowPositions:
    """Gives every row its own position in decoders whose positions are absolute.

    Such decoders take one position for the whole batch from the cache's length; hooks on their
    position embeddings put `depths` in its place while it is set.
    """

    def __init__(self, decoder: nn.Module) -> None:
        self.depths: Tensor | None = None  # [R] while a step runs
        names = dict(decoder.named_modules())
        bert = names.get("embeddings.position_embeddings")
        bart = names.get("embed_positions")
        if bert is not None:
            bert.register_forward_pre_hook(self._shift)
        elif bart is not None and "position_ids" in signature(bart.forward).parameters:
            bart.register_forward_pre_hook(self._replace, with_kwargs=True)
            bart.register_forward_hook(self._one_token_a_row)
        elif not any("relative_attention_bias" in name for name in names):
            raise unsupported(decoder)

    def _shift(self, _: nn.Module, args: tuple[Tensor]) -> tuple[Tensor] | None:
        """Move the common position [1, 1], which is the deepest row's, to each row's [R, 1]."""
        if self.depths is None:
            return None
        return (args[0] + (self.depths - self.depths.max())[:, None],)

    def _replace(self, _: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        if self.depths is None:
            return None
        return args, kwargs | {"position_ids": self.depths}

    def _one_token_a_row(self, _: nn.Module, __: Any, output: Tensor) -> Tensor | None:
        """Bring the vectors of all rows into the shape [R, 1, d]."""
        return None if self.depths is None else output.reshape(-1, 1, output.shape[-1])


def same_scores(found: Tensor, expected: Tensor) -> bool:
    """Whether two score tables agree up to rounding."""
    return torch.allclose(found, expected, rtol=1e-3, atol=1e-3)
