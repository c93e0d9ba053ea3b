"""The CPU default: the first layers of the packaged MiniLM read the query, a small decoder writes.

The decoder's own weights start random; its vectors for symbols are MiniLM's (see `vocabulary`).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
import torch
from pydantic import Field
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from tsgen.artifact import write_beside
from tsgen.config import StageConfig, unset
from tsgen.constrain.constraint import Int32, Ragged
from tsgen.errors import ArtifactError, ConfigError
from tsgen.model.adaptive import Adaptive
from tsgen.model.copying import Copy, Pointed
from tsgen.model.decoder import DecoderLayer, Groups, Memory
from tsgen.model.tree_cache import Rows, TreeCache
from tsgen.model.vocabulary import WordTable, shared, table_of, word_pieces
from tsgen.terms.encoder import MINILM, empty_encoder, load_encoder
from tsgen.terms.small import small, whole

CONFIG_FILE = "mini.json"
WEIGHTS_FILE = "model.safetensors"
ENCODER_FOLDER = "encoder"
EMBEDDINGS = "encoder.embeddings.word_embeddings.weight"
PIECES = ("table._offsets", "table._values")  # of the terms, where the spelling is by word


class MiniConfig(StageConfig):
    """The sizes of the small backbone."""

    encoder: str = MINILM
    encoder_layers: int | None = 3
    layers: int = 2
    heads: int = 12
    inner: int = 1536
    dropout: float = 0.1
    spelling: Literal["subword", "word"] = "word"
    query_tokens: int = 64
    positions: int = 256
    copying: bool = False  # whether the decoder can point at the query's words
    decoder: Literal["sequence", "set"] = "sequence"
    """What p(next | X) knows of X: the sequence, or the set only. Then equal sets reached in
    different orders are equal hypotheses, and to merge them is exact. Needs one symbol a term."""
    free_symbols: int | None = Field(None, ge=1, exclude_if=unset)
    """So many symbols with vectors of their own, in place of the tokenizer's pieces."""
    adaptive: int | None = Field(None, ge=1, exclude_if=unset)
    """The rank in which output vectors are adapted to the prefix (see `adaptive`); None: not."""


@dataclass(frozen=True, slots=True)
class MiniCache:
    """The tree of decoded tokens and what the encoder read, for each decoder layer."""

    tree: TreeCache
    memories: list[Memory]
    pointed: Pointed | None

    @property
    def queries(self) -> int:
        """The number of queries that were read."""
        return len(self.memories[0].mask)


class Mini(nn.Module):
    """A BERT-like encoder and a fresh decoder behind the `Backbone` protocol."""

    def __init__(
        self, config: MiniConfig, encoder: Any, tokenizer: Any, pieces: Ragged | None = None
    ) -> None:
        super().__init__()
        width = encoder.config.hidden_size
        if width % config.heads:
            raise ConfigError(f"heads = {config.heads}: expected a divisor of the width {width}")
        if (config.spelling == "word") != (pieces is not None):
            raise ConfigError(f"spelling {config.spelling!r}: `word`, and only it, needs terms")
        if config.decoder == "set" and config.spelling != "word":
            raise ConfigError(
                f"decoder = 'set' with spelling = {config.spelling!r}: a term's pieces have an "
                "order. Set model.spelling=word or model.decoder=sequence."
            )
        encoder.pooler = None  # made for whole sentences, never used here
        self.config, self.encoder, self.tokenizer = config, encoder, tokenizer
        embeddings = encoder.get_input_embeddings()
        self.table = table_of(embeddings, pieces if pieces is not None else config.free_symbols)
        self.start = nn.Parameter(torch.randn(width) * 0.02)
        self.positions = nn.Embedding(config.positions, width)
        nn.init.normal_(self.positions.weight, std=0.02)
        sizes = (width, config.heads, config.inner, config.dropout)
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(config.layers))
        self.norm = nn.LayerNorm(width)
        self.copy = Copy(width) if config.copying else None
        self.adaptive = Adaptive(width, config.adaptive) if config.adaptive else None
        self._selected: tuple[Tensor, Tensor] | None = None

    @classmethod
    def create(cls, config: MiniConfig | None = None, terms: Sequence[str] | None = None) -> Self:
        """A backbone with a fresh decoder; `terms` are the output symbols of `word` spelling."""
        config = config or MiniConfig()
        encoder, tokenizer = load_encoder(config.encoder, config.encoder_layers)
        pieces = None if terms is None else word_pieces(tokenizer, terms)
        return cls(config, encoder, tokenizer, pieces).eval()

    def start_from(self, folder: Path) -> None:
        """Take over what `save` or `save_small` wrote of a backbone of these sizes but its symbols:
        how it reads queries, and how it decides by them."""
        saved = load_file(folder / WEIGHTS_FILE)
        own = self.state_dict()
        taken = {name: saved[name] for name in own.keys() & saved.keys() - {*PIECES}}
        self.load_state_dict(own | taken)

    @property
    def spelling(self) -> str:
        """`word` or `subword`."""
        return self.config.spelling

    @property
    def output_size(self) -> int:
        """The number of pieces of the tokenizer, or of terms."""
        return self.table.size

    @torch.no_grad()
    def encode(self, queries: Sequence[str]) -> tuple[MiniCache, Tensor, Tensor]:
        """Read the queries once; the cache, the node where each DocID starts, its hidden state."""
        cache = MiniCache(TreeCache(self.start.device), *self._read(queries))
        rows = cache.tree.roots(len(queries))
        return cache, rows.nodes, self._decode(cache, rows, self.start.expand(len(queries), -1))

    @torch.no_grad()
    def step(
        self, cache: MiniCache, parents: Tensor, tokens: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Append `tokens` [R] to `parents` [R]: the new nodes [R] and hidden states [R, d]."""
        rows = cache.tree.extend(parents, lengths)
        return rows.ends(self._decode(cache, rows, self.table(tokens)))

    def keep(self, cache: MiniCache, nodes: Tensor) -> Tensor:
        """Forget everything but the paths of `nodes` [R]; returns their new numbers [R]."""
        return cache.tree.keep(nodes)

    @torch.no_grad()
    def logits(self, hidden: Tensor, tokens: Tensor | None = None) -> Tensor:
        """Scores [R, V] over all output symbols, or [R, len(tokens)] over some of them."""
        if tokens is None:
            return functional.linear(hidden, self.table())
        selected = self._selected  # one read: another thread may be searching for others
        if selected is None or selected[0] is not tokens:
            # A search asks for the same symbols in every step: gather their vectors once.
            selected = self._selected = tokens, self.table(tokens)
        return functional.linear(hidden, selected[1])

    def forward(
        self, queries: Sequence[str], targets: Tensor, tokens: Tensor | None = None
    ) -> Tensor:
        """Scores [Q, T, V] that predict `targets` [Q, T] from the targets before them.

        `tokens` limits the scores to some symbols, as in `logits`. Targets are padded at the end
        with any symbol; what stands after a position never changes its scores.
        """
        memories, pointed = self._read(queries)
        inputs = torch.cat(
            (self.start.expand(len(targets), 1, -1), self.table(targets[:, :-1])), dim=1
        )
        states, written = self._start(inputs, self.positions.weight[: targets.shape[1]])
        for layer, memory in zip(self.layers, memories, strict=True):
            states = layer(states, memory, written)
        hidden = self.norm(states)
        if self.adaptive is not None:
            hidden = self.adaptive(hidden, inputs + self.positions.weight[: targets.shape[1]])
        if self.copy is not None and pointed is not None:
            hidden = self.copy(hidden, pointed)
        return functional.linear(hidden, self.table(tokens))

    def train(self, mode: bool = True) -> Self:
        """Switch modes; forgets vectors gathered for an earlier search."""
        self._selected = None
        return super().train(mode)

    def with_symbols(self, kept: Int32, new: Ragged) -> Self:
        """The same model, its weights shared, with other terms as its symbols (`word` spelling):
        symbol i is this one's symbol kept[i] or, where that is −1, the next of `new` by pieces."""
        other = shared(self)
        other.table = cast(WordTable, self.table).with_symbols(kept, new)
        other._selected = None
        return other

    def save(self, folder: Path) -> None:
        """Write weights, settings and tokenizer: all that `load` needs."""
        folder.mkdir(parents=True, exist_ok=True)
        self.encoder.config.save_pretrained(folder / ENCODER_FOLDER)
        self.tokenizer.save_pretrained(folder / ENCODER_FOLDER)
        self._save(folder, self.state_dict())

    def save_small(self, folder: Path) -> None:
        """Write what training changed, in half precision: to be shipped, and loaded with any terms.
        The encoder's embeddings and its tokenizer are there wherever the encoder is."""
        weights = {name: value for name, value in self.state_dict().items() if name not in PIECES}
        changed = small(weights, EMBEDDINGS, self.config.encoder)
        folder.mkdir(parents=True, exist_ok=True)
        self._save(folder, changed)

    def _save(self, folder: Path, weights: dict[str, Tensor]) -> None:
        with write_beside(folder / WEIGHTS_FILE) as beside:
            save_file({name: value.contiguous() for name, value in weights.items()}, beside)
        with write_beside(folder / CONFIG_FILE) as beside:
            beside.write_text(json.dumps(self.config.model_dump(), indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path, terms: Sequence[str] | None = None) -> Self:
        """Read what `save` wrote, or with `terms` what `save_small` did. In `word` spelling `terms`
        replace the symbols that it wrote: their vectors are composed from the same pieces."""
        try:
            config = MiniConfig.from_mapping(json.loads((folder / CONFIG_FILE).read_text()))
            weights = load_file(folder / WEIGHTS_FILE)
            if EMBEDDINGS in weights:
                encoder, tokenizer = empty_encoder(folder / ENCODER_FOLDER)
            else:
                encoder, tokenizer = load_encoder(config.encoder, config.encoder_layers)
                weights = whole(weights, EMBEDDINGS, encoder)
        except (OSError, ValueError, SafetensorError) as error:
            raise ArtifactError(
                f"{folder}: not a saved mini backbone ({error}). Train it again or check the path."
            ) from None
        if terms is not None and config.spelling == "word":
            weights |= _symbols(word_pieces(tokenizer, terms))
        model = cls(config, encoder, tokenizer, _saved_pieces(weights))
        model.load_state_dict(weights)
        return model.eval()

    def _read(self, queries: Sequence[str]) -> tuple[list[Memory], Pointed | None]:
        """Encode the queries and project the result for each decoder layer and the copy path."""
        inputs = self.tokenizer(
            list(queries),
            padding=True,
            truncation=True,
            max_length=self.config.query_tokens,
            return_tensors="pt",
        ).to(self.start.device)
        encoded = self.encoder(**inputs).last_hidden_state
        mask = inputs["attention_mask"].bool()
        memories = [layer.remember(encoded, mask) for layer in self._each_layer()]
        if self.copy is None:
            return memories, None
        return memories, self.copy.remember(encoded, self.table.pieces(inputs["input_ids"]), mask)

    def _start(self, inputs: Tensor, places: Tensor) -> tuple[Tensor, Tensor | None]:
        """The first layer's states, and what they look at instead of at one another. A state that
        is to know the set only starts from the number of terms, the same for all orders."""
        if self.config.decoder == "set":
            return self.start + places.expand_as(inputs), inputs
        return inputs + places, None

    def _each_layer(self) -> Iterator[DecoderLayer]:
        return iter(cast(Iterable[DecoderLayer], self.layers))

    def _decode(self, cache: MiniCache, rows: Rows, inputs: Tensor) -> Tensor:
        """Run one token a row [R, d] through the decoder."""
        groups = Groups.of(rows.queries, cache.queries)
        states, written = self._start(inputs, self.positions(rows.depths))
        for number, (layer, memory) in enumerate(
            zip(self._each_layer(), cache.memories, strict=True)
        ):
            states = layer.step(states, number, cache.tree, rows, groups, memory, written)
        hidden: Tensor = self.norm(states)
        if self.adaptive is not None:
            prefix, free = inputs + self.positions(rows.depths), len(self.layers)
            hidden = self.adaptive.step(hidden, prefix, free, cache.tree, rows)
        if self.copy is None or cache.pointed is None:
            return hidden
        return groups.collect(self.copy(groups.spread(hidden), cache.pointed))


def _symbols(pieces: Ragged) -> dict[str, Tensor]:
    """The terms' pieces as they are saved among weights."""
    arrays = pieces.offsets.astype(np.int64), pieces.values.astype(np.int32)
    return dict(zip(PIECES, map(torch.from_numpy, arrays), strict=True))


def _saved_pieces(weights: dict[str, Tensor]) -> Ragged | None:
    """The terms' pieces among saved weights, if the spelling is by word."""
    if not weights.keys() >= {*PIECES}:
        return None
    offsets, values = (weights[name].numpy() for name in PIECES)
    return Ragged(offsets, values)
