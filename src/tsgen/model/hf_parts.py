"""What differs between families of encoder-decoder models in transformers, in one place.

A model is taken apart into encoder, decoder, output layer and the step between the last two, and
the positions of its decoder are set by row, because one batch holds prefixes of different lengths.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from tsgen.errors import ConfigError

SUPPORTED = "the T5 family, the BART family (absolute positions), or BERT2BERT"


@dataclass(frozen=True, slots=True)
class Parts:
    """The pieces of one model."""

    encoder: nn.Module
    bridge: Callable[[Tensor], Tensor]  # encoder states → what the decoder reads
    decoder: nn.Module
    finishes: tuple[Callable[[Tensor], Tensor], ...]  # decoder states → input of the output layer
    output: nn.Linear
    bias: Tensor | None  # [V]


def take_apart(model: Any) -> Parts:
    """Find the pieces of a model of a known family."""
    if model.config.model_type == "encoder-decoder":
        return _from_two(model)
    decoder, output = model.get_decoder(), model.get_output_embeddings()
    shift = getattr(model, "final_logits_bias", None)  # BART adds one after its output layer
    bias = output.bias if shift is None else shift[0]
    scale = output.in_features**-0.5  # T5 multiplies by it, T5 1.1 does not
    finishes = (_same, lambda states: states * scale)
    return Parts(model.get_encoder(), _same, decoder, finishes, output, bias)


def _same(states: Tensor) -> Tensor:
    return states


def _from_two(model: Any) -> Parts:
    """BERT2BERT: two models side by side, the second with a language-model head."""
    head = getattr(getattr(model.decoder, "cls", None), "predictions", None)
    if head is None:
        raise unsupported(model.decoder)
    bridge = getattr(model, "enc_to_dec_proj", _same)
    decoder, output = model.decoder.base_model, model.decoder.get_output_embeddings()
    finish = head.transform.__call__  # a bound method, so that nobody registers its weights again
    return Parts(model.encoder, bridge, decoder, (finish,), output, output.bias)


def unsupported(model: Any) -> ConfigError:
    """The error for a model whose decoder this module cannot drive."""
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
