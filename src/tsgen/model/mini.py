"""The backbone `mini`, for CPUs: the first layers of MiniLM read the query, a small decoder writes.

The decoder's own weights start random; its vectors of symbols are MiniLM's (see `vocabulary`).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from tsgen.artifact import write_beside
from tsgen.constrain.constraint import Int32, Ragged
from tsgen.errors import ArtifactError, ConfigError
from tsgen.model.backbone import BACKBONES, Architecture, Backbone, OutputSymbols
from tsgen.model.output_sum import OutputSum
from tsgen.model.tree_cache import Rows, TreeCache
from tsgen.model.vocabulary import WordTable, shared, table_of, word_pieces
from tsgen.settings import MINI_FLAT, MiniConfig, ModelConfig
from tsgen.terms.encoder import empty_encoder, load_encoder, small, whole

# Adaptive output vectors: the vector of a symbol may depend on the prefix, as in NCI.
#
#     scores = h · W(X),   W(X) = W (I + U diag(g(X)) V)ᵀ
#
# g(X) comes from a net of its own that reads the prefix X alone: one layer of attention over the
# symbols so far and their places. So what a symbol means may depend on what stands before it, as
# the third code of one cluster has nothing to do with that of another. Since W(X) stands only in
# that product, the state is adapted instead of the whole table: h + U(g(X) ⊙ Vᵀh).


class Adaptive(nn.Module):
    """The net that reads the prefix, and the low-rank map that it adapts."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.norm, self.look = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.inner, self.gate = nn.Linear(width, width), nn.Linear(width, rank)
        self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)

    def forward(self, hidden: Tensor, prefix: Tensor) -> Tensor:
        """Adapt the states [Q, T, d] of all positions at once, with the vectors of the prefix [Q,
        T, d]."""
        query, key, value = self.look(self.norm(prefix)).chunk(3, dim=-1)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self._adapted(hidden, prefix + seen)

    def step(
        self, hidden: Tensor, prefix: Tensor, layer: int, tree: TreeCache, rows: Rows
    ) -> Tensor:
        """Adapt the states [R, d] of one step.

        Args:
            hidden: [R, d] the decoder's state of each row.
            prefix: [R, d] the vector of each row's newest token.
            layer: The number under which the tree keeps the net's keys and values.
            tree: Holds what earlier steps wrote.
            rows: The rows of this step.
        """
        query, key, value = self.look(self.norm(prefix)).chunk(3, dim=-1)
        keys, values = tree.write(layer, rows, key[:, None], value[:, None])  # [R, 1, L, d]
        mask = None if rows.mask is None else rows.mask[:, None, None, :]
        seen = functional.scaled_dot_product_attention(query[:, None, None], keys, values, mask)
        return self._adapted(hidden, prefix + seen.flatten(1))

    def _adapted(self, hidden: Tensor, prefix: Tensor) -> Tensor:
        gate = self.gate(functional.gelu(self.inner(prefix)))
        out: Tensor = hidden + self.up(torch.tanh(gate) * self.down(hidden))
        return out


# Copying: the decoder points at words of the query, and terms like them score higher.
#
#     h' = h + s Σ_j a_j (c_j − c̄),   a_j = σ(q(h) · k(x_j) / √d)
#
# x_j is the encoder's state of the query's token j and c_j the vector that the decoder's table has
# for that token; c̄ is the mean of all tokens. Since a term's score is h' · e(t), and e(t) is made
# of the same vectors, a term that the query has gains by the size of its own vector, one that
# shares a piece or is near in meaning gains less: nothing about words is compared, so no word is
# unknown.

SCALE = 2.0  # of the gain before training


@dataclass(frozen=True, slots=True)
class Pointed:
    """The words of some queries that a state can point at."""

    keys: Tensor  # [Q, S, d]
    vectors: Tensor  # [Q, S, d] zero where there is no token


class Copy(nn.Module):
    """Adds to a state the vectors of the query's words that it points at."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ask, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.scale = nn.Parameter(torch.tensor(SCALE))

    def remember(self, encoded: Tensor, vectors: Tensor, mask: Tensor) -> Pointed:
        """Prepare the queries once for all steps.

        Args:
            encoded: [Q, S, d] the encoder's states.
            vectors: [Q, S, d] the vectors that the decoder's table has for the tokens.
            mask: [Q, S] True where there is a token.
        """
        return Pointed(self.key(encoded), vectors * mask[..., None])

    def forward(self, states: Tensor, pointed: Pointed) -> Tensor:
        """Add to the states [Q, T, d] of the decoder's last layer the words that they point at."""
        width = states.shape[-1]
        share = torch.sigmoid(self.ask(states) @ pointed.keys.transpose(1, 2) / width**0.5)
        out: Tensor = states + self.scale * (share @ pointed.vectors)
        return out


# The small backbone's decoder: pre-norm layers, run on whole targets or step by step.
#
# A layer attends to the states of earlier tokens, which know the tokens' order. In a set decoder it
# attends to vectors that say nothing but which tokens they are, so that a state knows no more of
# them than their set.


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows arranged by query in a grid [Q, M], so that attention reads a query's keys once for all
    its rows."""

    place: Tensor  # [R] the cell of each row in the flat grid
    queries: int
    width: int  # M, the most rows that a query has

    @classmethod
    def of(cls, queries: Tensor, count: int) -> "Groups":
        """The grid for rows of these queries [R], out of `count` queries."""
        sizes = torch.bincount(queries, minlength=count)
        width = int(sizes.max()) if len(queries) else 0
        order = torch.argsort(queries, stable=True)
        starts = sizes.cumsum(0) - sizes
        rank = torch.arange(len(order), device=order.device) - starts[queries[order]]
        place = torch.empty_like(order)
        place[order] = queries[order] * width + rank
        return cls(place, count, width)

    def spread(self, rows: Tensor) -> Tensor:
        """Rows [R, d] put into the grid [Q, M, d]; empty cells are zero."""
        grid = rows.new_zeros(self.queries * self.width, rows.shape[-1])
        return grid.index_copy(0, self.place, rows).view(self.queries, self.width, -1)

    def collect(self, grid: Tensor) -> Tensor:
        """The rows [R, d] taken back out of the grid [Q, M, d]."""
        return grid.reshape(self.queries * self.width, -1).index_select(0, self.place)


@dataclass(frozen=True, slots=True)
class Memory:
    """The encoder's states as keys and values of one decoder layer, with their mask."""

    keys: Tensor  # [Q, heads, S, size]
    values: Tensor  # [Q, heads, S, size]
    mask: Tensor  # [Q, 1, 1, S] True where there is a token


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention and a feed-forward net, each on a normalised input."""

    def __init__(self, width: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.self_in, self.self_out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.cross_query, self.cross_out = nn.Linear(width, width), nn.Linear(width, width)
        self.cross_memory = nn.Linear(width, 2 * width)
        self.inner, self.outer = nn.Linear(width, inner), nn.Linear(inner, width)
        self.dropout = nn.Dropout(dropout)

    def remember(self, encoded: Tensor, mask: Tensor) -> Memory:
        """Project encoder states [Q, S, d] once for all steps."""
        keys, values = self.cross_memory(encoded).chunk(2, dim=-1)
        return Memory(self._split(keys), self._split(values), mask[:, None, None, :])

    def forward(self, states: Tensor, memory: Memory, written: Tensor | None = None) -> Tensor:
        """Compute all positions of the targets at once, with causal attention.

        Args:
            states: [Q, T, d] the states of the layer below.
            memory: What the encoder read.
            written: [Q, T, d] the vectors that a set decoder attends to instead of the states.
        """
        query, key, value = self._look(states, written)
        seen = functional.scaled_dot_product_attention(
            self._split(query), self._split(key), self._split(value), is_causal=True
        )
        states = states + self.dropout(self.self_out(self._join(seen)))
        states = states + self.dropout(self.cross_out(self._cross(self._ask(states), memory)))
        out: Tensor = states + self.dropout(self._feed_forward(states))
        return out

    def step(
        self,
        states: Tensor,
        layer: int,
        tree: TreeCache,
        rows: Rows,
        groups: Groups,
        memory: Memory,
        written: Tensor | None = None,
    ) -> Tensor:
        """Compute one new token of each row: states [R, d]; `written` [R, d] in a set decoder."""
        query, key, value = (
            part.view(len(states), self.heads, -1) for part in self._look(states, written)
        )
        keys, values = tree.write(layer, rows, key, value)
        mask = None if rows.mask is None else rows.mask[:, None, None, :]
        seen = functional.scaled_dot_product_attention(query[:, :, None], keys, values, mask)
        states = states + self.self_out(seen.reshape(len(states), -1))
        grid = groups.spread(self._ask(states))
        states = states + self.cross_out(groups.collect(self._cross(grid, memory)))
        return states + self._feed_forward(states)

    def _look(self, states: Tensor, written: Tensor | None) -> tuple[Tensor, ...]:
        """The attention queries of the states, and the keys and values that they attend to, [...,
        d]."""
        if written is None:
            parts: tuple[Tensor, ...] = self.self_in(self.norms[0](states)).chunk(3, dim=-1)
            return parts
        width = states.shape[-1]
        weight, bias = self.self_in.weight, self.self_in.bias
        query = functional.linear(self.norms[0](states), weight[:width], bias[:width])
        held = functional.linear(self.norms[0](written), weight[width:], bias[width:])
        return query, *held.chunk(2, dim=-1)

    def _ask(self, states: Tensor) -> Tensor:
        query: Tensor = self.cross_query(self.norms[1](states))
        return query

    def _cross(self, query: Tensor, memory: Memory) -> Tensor:
        """Cross-attention of the attention queries [Q, T, d] over the memory."""
        return self._join(
            functional.scaled_dot_product_attention(
                self._split(query), memory.keys, memory.values, memory.mask
            )
        )

    def _feed_forward(self, states: Tensor) -> Tensor:
        out: Tensor = self.outer(functional.gelu(self.inner(self.norms[2](states))))
        return out

    def _split(self, states: Tensor) -> Tensor:
        """[Q, T, d] → [Q, heads, T, size]."""
        return states.view(*states.shape[:2], self.heads, -1).transpose(1, 2)

    def _join(self, states: Tensor) -> Tensor:
        """[Q, heads, T, size] → [Q, T, d]."""
        return states.transpose(1, 2).flatten(2)


CONFIG_FILE = "mini.json"
WEIGHTS_FILE = "model.safetensors"
ENCODER_FOLDER = "encoder"
EMBEDDINGS = "encoder.embeddings.word_embeddings.weight"
PIECES = ("table._offsets", "table._values")  # of the terms, where the spelling is by word


@dataclass(frozen=True, slots=True)
class MiniCache:
    """The cache of a search: the tree of decoded tokens, and what the encoder read for each
    layer."""

    tree: TreeCache
    memories: list[Memory]
    pointed: Pointed | None

    @property
    def queries(self) -> int:
        """The number of queries in the cache."""
        return len(self.memories[0].mask)


class Mini(Backbone):
    """The first layers of a BERT-like encoder, and a small decoder of our own."""

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
        self._sum: OutputSum | None = None

    @classmethod
    def create(cls, config: MiniConfig | None = None, terms: Sequence[str] | None = None) -> Self:
        """A backbone with a fresh decoder; `terms` are the output symbols of `word` spelling."""
        config = config or MiniConfig()
        encoder, tokenizer = load_encoder(config.encoder, config.encoder_layers)
        pieces = None if terms is None else word_pieces(tokenizer, terms)
        return cls(config, encoder, tokenizer, pieces).eval()

    def start_from(self, folder: Path) -> None:
        """Take over all saved weights of a backbone of the same sizes except its output symbols:
        how it reads queries, and how it decides by them."""
        saved = load_file(folder / WEIGHTS_FILE)
        own = self.state_dict()
        taken = {name: saved[name] for name in own.keys() & saved.keys() - {*PIECES}}
        self.load_state_dict(own | taken)

    @property
    def query_encoder(self) -> Any:
        """The BERT-like encoder; its input embeddings are also the decoder's."""
        return self.encoder

    @property
    def spelling(self) -> str:
        """`word` if each term is one symbol, `subword` if terms are spelled by pieces."""
        return self.config.spelling

    @property
    def output_size(self) -> int:
        """The number of pieces of the tokenizer, or of terms."""
        return self.table.size

    @property
    def order_free(self) -> bool:
        """Whether the decoder is a set decoder, and nothing beside it reads the terms' places."""
        return self.config.decoder == "set" and self.adaptive is None

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

    @torch.no_grad()
    def log_normaliser(self, hidden: Tensor) -> Tensor:
        """log Σ exp of all scores of each state, [R]."""
        table, known = self.table(), self._sum
        if known is None or not known.is_of(table):
            known = self._sum = OutputSum(table)
        return known(hidden)

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
        self._selected = self._sum = None
        return super().train(mode)

    def with_symbols(self, kept: Int32, new: Ragged) -> Self:
        """The same model, its weights shared, with other terms as its symbols (`word` spelling):
        symbol i is this one's symbol kept[i] or, where that is −1, the next of `new` by pieces."""
        other = shared(self)
        other.table = cast(WordTable, self.table).with_symbols(kept, new)
        other._selected = other._sum = None
        return other

    def save(self, folder: Path) -> None:
        """Write weights, settings and tokenizer: all that `load` needs."""
        folder.mkdir(parents=True, exist_ok=True)
        self.encoder.config.save_pretrained(folder / ENCODER_FOLDER)
        self.tokenizer.save_pretrained(folder / ENCODER_FOLDER)
        self._save(folder, self.state_dict())

    def save_small(self, folder: Path) -> None:
        """Write what training changed, in half precision and without output symbols.

        The result is small enough to come with the package and is loaded with any terms. The
        embeddings and the tokenizer are left out because they come with the encoder.
        """
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
        """The states below the first layer, and the vectors that a set decoder attends to. There a
        state begins with nothing but the number of terms, which is the same for all orders."""
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


def create_flat(config: ModelConfig, symbols: OutputSymbols) -> Mini:
    """A backbone of these sizes with a fresh decoder."""
    sizes = config.own_sizes()
    if isinstance(symbols, int):
        return Mini.create(sizes.model_copy(update={"free_symbols": symbols}))
    return Mini.create(sizes, symbols)


def load_mini(folder: Path, _: ModelConfig, terms: Sequence[str] | None) -> Mini:
    """Read a saved backbone, which knows its own sizes."""
    return Mini.load(folder, terms)


def encoder_tokenizer(config: ModelConfig) -> Any:
    """The tokenizer of the encoder that the settings name."""
    return load_encoder(config.encoder, 0)[1]


BACKBONES.register(Architecture(MINI_FLAT, create_flat, load_mini, tokenizer=encoder_tokenizer))
