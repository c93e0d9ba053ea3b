"""Any encoder-decoder of transformers behind the `Backbone` protocol."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tsgen.errors import ConfigError
from tsgen.model.hf import Encoded, HFBackbone, RowPositions, encoder_decoder_parts
from tsgen.model.tree_cache import TreeCache


class Seq2Seq(HFBackbone):
    """T5, BART and their relatives, and BERT2BERT."""

    def __init__(self, model: Any, tokenizer: Any, query_tokens: int = 64) -> None:
        super().__init__(model, tokenizer, query_tokens, encoder_decoder_parts(model))
        self._positions = RowPositions(self._parts.decoder)
        self._start = _start_token(model, tokenizer)
        self._check()

    @torch.no_grad()
    def encode(self, queries: Sequence[str]) -> tuple[Encoded, Tensor, Tensor]:
        """Read the queries once; the cache, the node where each DocID starts, its hidden state."""
        return self._open(*self._read(queries))

    @torch.no_grad()
    def step(
        self, cache: Encoded, parents: Tensor, tokens: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Append `tokens` [R] to `parents` [R]: the new nodes [R] and hidden states [R, d]."""
        cache.rows = cache.tree.extend(parents, lengths)
        return cache.rows.ends(self._decode(cache, self.symbols.read(tokens)))

    def forward(
        self, queries: Sequence[str], targets: Tensor, tokens: Tensor | None = None
    ) -> Tensor:
        """Scores [Q, T, V] that predict `targets` [Q, T] from the targets before them.

        `tokens` limits the scores to some symbols. Targets are padded at the end with any symbol;
        what stands after a position never changes its scores.
        """
        encoded, mask = self._read(queries)
        first = self._start_vectors(len(targets))[:, None]
        states = self._parts.decoder(
            inputs_embeds=torch.cat((first, self.symbols.read(targets[:, :-1])), dim=1),
            attention_mask=torch.ones_like(targets),
            encoder_hidden_states=encoded,
            encoder_attention_mask=mask.long(),
            use_cache=False,
        ).last_hidden_state
        return self.symbols.write(self._finish(states), tokens)

    def _read(self, queries: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Encoder states [Q, S, d] and where they are not padding [Q, S]."""
        inputs = self.tokenizer(
            list(queries),
            padding=True,
            truncation=True,
            max_length=self.query_tokens,
            return_tensors="pt",
        ).to(self._device)
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        return self._encoded(ids, mask), mask.bool()

    def _encoded(self, ids: Tensor, mask: Tensor) -> Tensor:
        states = self._parts.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return self._parts.bridge(states)

    def _open(self, encoded: Tensor, mask: Tensor) -> tuple[Encoded, Tensor, Tensor]:
        """Start a tree: every query's root holds the decoder's start token."""
        tree = TreeCache(encoded.device)
        cache = Encoded(tree, tree.roots(len(encoded)), encoded, mask)
        return cache, cache.rows.nodes, self._decode(cache, self._start_vectors(len(encoded)))

    def _start_vectors(self, count: int) -> Tensor:
        start = torch.tensor(self._start, device=self._device)
        vector: Tensor = self._parts.embeddings(start)
        return vector.expand(count, -1)

    def _decode(self, cache: Encoded, inputs: Tensor) -> Tensor:
        """Run one token a row [R, d] through the decoder: hidden states [R, d]."""
        self._positions.depths = cache.rows.depths
        try:
            states = self._parts.decoder(
                inputs_embeds=inputs[:, None],
                attention_mask=cache.self_mask(),
                encoder_hidden_states=cache.encoded,
                encoder_attention_mask=cache.cross_mask(),
                past_key_values=cache.states,
                use_cache=True,
            ).last_hidden_state
        finally:
            self._positions.depths = None
        return self._finish(states.squeeze(1))

    @torch.no_grad()
    def _check(self) -> None:
        ids = torch.tensor([[3, 4, 5]], device=self._device)
        path = torch.tensor([[self._start, 4, 3]], device=self._device)
        scores = self.model(input_ids=ids, decoder_input_ids=path, use_cache=False).logits[0]
        mask = torch.ones_like(ids)
        encoded = self._encoded(ids, mask)
        self._choose_finish(lambda: self._open(encoded, mask.bool()), path[0, 1:], scores)


def _start_token(model: Any, tokenizer: Any) -> int:
    """The token that every target starts with."""
    for value in (
        model.config.decoder_start_token_id,
        getattr(tokenizer, "cls_token_id", None),
        model.config.pad_token_id,
    ):
        if value is not None:
            return int(value)
    raise ConfigError("the backbone's configuration names no decoder_start_token_id; set it there")
