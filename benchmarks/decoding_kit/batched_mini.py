"""The same mini backbone with an ordinary batch cache, for the peers.

`MiniForGeneration` is what `generate` of transformers needs; the plain search drives it directly.
Every beam owns a copy of its keys and values, of its query's too, and reordering beams copies them.
Two symbols are added behind the model's own: the start of a target and its end. Neither has a
probability, so log p of all others is the same as in the backbone.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

from tsgen.model.mini import DecoderLayer, Mini


class BatchedConfig(PreTrainedConfig):
    """What `generate` asks a configuration."""

    model_type = "tsgen-benchmark"


class MiniForGeneration(PreTrainedModel, GenerationMixin):
    """A mini backbone in the shape that `generate` drives."""

    config_class = BatchedConfig
    main_input_name = "input_ids"
    _supports_sdpa = True

    def __init__(self, backbone: Mini) -> None:
        size = backbone.output_size
        super().__init__(
            BatchedConfig(
                is_encoder_decoder=True,
                vocab_size=size + 2,
                num_hidden_layers=len(backbone.layers),
                decoder_start_token_id=size,
                bos_token_id=size,
                eos_token_id=size + 1,
                pad_token_id=size + 1,
            )
        )
        self.backbone, self.start, self.end = backbone, size, size + 1

    def get_encoder(self, *_: Any, **__: Any) -> nn.Module:
        """The half that `generate` calls once."""
        return _Encoder(self.backbone.encoder)

    def _reorder_cache(self, cache: EncoderDecoderCache, order: Tensor) -> EncoderDecoderCache:
        cache.reorder_cache(order)
        return cache

    def prepare_inputs_for_generation(
        self, input_ids: Tensor, past_key_values: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Only the newest token: all others are in the cache."""
        return {
            "decoder_input_ids": input_ids[:, -1:],
            "past_key_values": past_key_values,
            "encoder_outputs": kwargs["encoder_outputs"],
            "attention_mask": kwargs["attention_mask"],
        }

    @torch.no_grad()
    def forward(
        self,
        attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | None = None,
        decoder_input_ids: Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        **_: Any,
    ) -> Seq2SeqLMOutput:
        """One token a beam [B, 1]: scores [B, 1, V + 2]."""
        model = self.backbone
        tokens = decoder_input_ids[:, 0]
        inputs = model.table(tokens.clamp(max=self.start - 1))
        inputs[tokens == self.start] = model.start
        inputs[tokens == self.end] = 0
        states = (inputs + model.positions.weight[past_key_values.get_seq_length()])[:, None]
        mask = attention_mask[:, None, None, :].bool()
        for number, layer in enumerate(model.layers):
            memory = encoder_outputs.last_hidden_state
            states = _layer_step(layer, number, states, memory, mask, past_key_values)
        scores = functional.linear(model.norm(states), model.table())
        nothing = scores.new_full((len(tokens), 1, 2), -torch.inf)
        return Seq2SeqLMOutput(
            logits=torch.cat((scores, nothing), dim=-1), past_key_values=past_key_values
        )


class _Encoder(nn.Module):
    main_input_name = "input_ids"

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> BaseModelOutput:
        found = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        return BaseModelOutput(last_hidden_state=found.last_hidden_state)


def empty_cache() -> EncoderDecoderCache:
    """A cache as `generate` makes it."""
    return EncoderDecoderCache(DynamicCache(), DynamicCache())


def _layer_step(
    layer: DecoderLayer,
    number: int,
    states: Tensor,
    encoded: Tensor,
    mask: Tensor,
    cache: EncoderDecoderCache,
) -> Tensor:
    """`DecoderLayer.step` with a batch cache; states [B, 1, d]."""
    query, key, value = map(layer._split, layer.self_in(layer.norms[0](states)).chunk(3, dim=-1))
    keys, values = cache.self_attention_cache.update(key, value, number)
    seen = functional.scaled_dot_product_attention(query, keys, values)
    states = states + layer.self_out(layer._join(seen))
    if not cache.is_updated.get(number):
        projected = map(layer._split, layer.cross_memory(encoded).chunk(2, dim=-1))
        cache.cross_attention_cache.update(*projected, number)
        cache.is_updated[number] = True
    known = cache.cross_attention_cache.layers[number]
    asked = layer._split(layer._ask(states))
    read = functional.scaled_dot_product_attention(asked, known.keys, known.values, mask)
    states = states + layer.cross_out(layer._join(read))
    return states + layer._feed_forward(states)
