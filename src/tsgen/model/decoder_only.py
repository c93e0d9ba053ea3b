"""Any causal language model of transformers behind the `Backbone` protocol.

The query and a cue are the prompt, the DocID is its continuation. A prompt is computed once; its
tokens are nodes of the tree, so that all beams of a query share their keys and values.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from tsgen.model.hf import HFBackbone, Reading, causal_parts
from tsgen.model.tree_cache import TreeCache

CUE = "\nterms:"  # terms follow as in running text: "sodium in white bread\nterms: bread, sodium,"

_hf: Any = import_module("transformers")  # partly typed: taken as untyped


class DecoderOnly(HFBackbone):
    """Llama, SmolLM2, Qwen, GPT-2 and their relatives."""

    def __init__(self, model: Any, tokenizer: Any, query_tokens: int = 64) -> None:
        super().__init__(model, tokenizer, query_tokens, causal_parts(model))
        self._cue = tokenizer(CUE, add_special_tokens=False)["input_ids"] or [0]
        self._check()

    @torch.no_grad()
    def encode(self, queries: Sequence[str]) -> tuple[Reading, Tensor, Tensor]:
        """Read the queries once; the cache, the node where each DocID starts, its hidden state."""
        return self._open(*self._prompts(queries))

    @torch.no_grad()
    def step(
        self, cache: Reading, parents: Tensor, tokens: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Append `tokens` [R] to `parents` [R]: the new nodes [R] and hidden states [R, d]."""
        cache.rows = cache.tree.extend(parents, lengths)
        states = self._parts.decoder(
            inputs_embeds=self.symbols.read(tokens)[:, None],
            attention_mask=cache.self_mask(),
            position_ids=cache.rows.depths[:, None],
            past_key_values=cache.states,
            use_cache=True,
        ).last_hidden_state
        return cache.rows.ends(self._finish(states.squeeze(1)))

    def forward(
        self, queries: Sequence[str], targets: Tensor, tokens: Tensor | None = None
    ) -> Tensor:
        """Scores [Q, T, V] that predict `targets` [Q, T] from the targets before them.

        `tokens` limits the scores to some symbols. Targets are padded at the end with any symbol;
        what stands after a position never changes its scores.
        """
        prompts, lengths = self._prompts(queries)
        places = torch.arange(targets.shape[1], device=self._device)
        places = lengths[:, None] + places - 1  # [Q, T] where each target is predicted
        prompt = self._parts.embeddings(prompts)  # [Q, S, d]
        read = self.symbols.read(targets[:, :-1]).to(prompt.dtype)  # [Q, T - 1, d]
        inputs = torch.cat((prompt, torch.zeros_like(read)), dim=1)
        # Each target starts right after its own prompt, so all padding is at the end, where no
        # mask is needed: nothing before it looks there.
        inputs = inputs.scatter(1, places[:, 1:, None].expand_as(read), read)
        states = self._parts.decoder(inputs_embeds=inputs, use_cache=False).last_hidden_state
        rows = torch.arange(len(targets), device=self._device)[:, None]
        return self.symbols.write(self._finish(states[rows, places]), tokens)

    def _prompts(self, queries: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Tokens [Q, S] filled up with zeros at the end, and how many are the prompt's [Q]."""
        texts = self.tokenizer(list(queries), truncation=True, max_length=self.query_tokens)
        rows = [torch.tensor([*row, *self._cue]) for row in texts["input_ids"]]
        lengths = torch.tensor([len(row) for row in rows])
        prompts = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return prompts.to(self._device), lengths.to(self._device)

    def _open(self, prompts: Tensor, lengths: Tensor) -> tuple[Reading, Tensor, Tensor]:
        """Compute the prompts and put their keys and values into a tree."""
        past = _hf.DynamicCache()
        states = self._parts.decoder(
            input_ids=prompts, past_key_values=past, use_cache=True
        ).last_hidden_state
        tree = TreeCache(prompts.device)
        rows = tree.prompts(lengths)
        inside = torch.arange(prompts.shape[1], device=prompts.device) < lengths[:, None]
        for number, layer in enumerate(past.layers):
            keys, values = (part.transpose(1, 2)[inside] for part in (layer.keys, layer.values))
            tree.fill(number, rows, keys, values)
        last = states[torch.arange(len(lengths), device=states.device), lengths - 1]
        return Reading(tree, rows), rows.nodes[lengths.cumsum(0) - 1], self._finish(last)

    @torch.no_grad()
    def _check(self) -> None:
        ids = torch.tensor([[3, 4, 5, 4, 3]], device=self._device)
        scores = self.model(input_ids=ids, use_cache=False).logits[0, 2:]
        prompt, length = ids[:, :3], torch.tensor([3], device=self._device)
        self._choose_finish(lambda: self._open(prompt, length), ids[0, 3:], scores)
