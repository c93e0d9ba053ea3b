"""What all backbones made of transformers models have in common.

Transformers computes the layers; the tree cache holds their keys and values, and tables of our own
may take the place of the model's vectors for its output symbols.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from itertools import count
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from tsgen.artifact import write_beside
from tsgen.constrain.constraint import Int32, Ragged
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone
from tsgen.model.output_sum import OutputSum
from tsgen.model.tree_cache import Rows, TreeCache
from tsgen.model.vocabulary import FreeTable, WordTable, own_table, shared, word_pieces

# The differences between families of models in transformers.
#
# A model is taken apart into its query encoder, its decoder, the decoder's embeddings and output
# layer, and the step before the output layer. One batch holds prefixes of different lengths, so
# decoders that take one position for the whole batch are given a position for each row.

SUPPORTED = (
    "the T5 family, the BART family (absolute positions), BERT2BERT, or a causal language model "
    "whose layers all attend (Llama, Qwen, GPT-2, …)"
)


@dataclass(frozen=True, slots=True)
class Parts:
    """A transformers model taken apart."""

    encoder: nn.Module  # reads queries; in a decoder-only model the decoder itself
    bridge: Callable[[Tensor], Tensor]  # encoder states → what the decoder reads
    decoder: nn.Module
    embeddings: nn.Embedding  # of the decoder
    finishes: tuple[Callable[[Tensor], Tensor], ...]  # decoder states → input of the output layer
    output: nn.Linear
    bias: Callable[[], Tensor | None]  # [V]; asked for each time, because buffers may move


def encoder_decoder_parts(model: Any) -> Parts:
    """Take apart an encoder-decoder of a known family."""
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
    """Take apart a decoder-only language model."""
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
    """The bias that BART adds after its output layer, or the output layer's own."""
    shift: Tensor | None = getattr(model, "final_logits_bias", None)
    bias: Tensor | None = model.get_output_embeddings().bias
    return bias if shift is None else shift[0]


def _from_two(model: Any) -> Parts:
    """Take apart a BERT2BERT: two models, the second with a language-model head."""
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
    """Gives every row of a batch its own position in decoders with absolute positions.

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


# The tree cache in the shape that transformers' attention layers expect of a cache.
#
# Transformers asks a cache layer to store one new token a row and to hand back all keys and values
# of that row. Here the row's path in the tree answers, so beams are never copied or reordered.

_hf: Any = import_module("transformers.cache_utils")  # partly typed: taken as untyped


@dataclass(slots=True)
class Reading:
    """The cache of a batch of queries in a decoder-only model: the tree, which begins with the
    prompts, the rows of the current step, and both in the form of a cache of transformers."""

    tree: TreeCache
    rows: Rows
    states: Any = field(init=False)  # what the decoder is called with

    def __post_init__(self) -> None:
        """Make the cache of transformers; its layers are made when the decoder first uses them."""
        self.states = self._own()

    def self_mask(self) -> Tensor:
        """[R, 1, 1, L] which columns of the right-aligned paths are tokens."""
        mask, slots = self.rows.mask, self.rows.slots
        if mask is None:
            mask = torch.ones(slots.shape, dtype=torch.bool, device=slots.device)
        return mask[:, None, None, :]

    def _own(self) -> Any:
        numbers = count()
        return _hf.Cache(layer_class_to_replicate=lambda: _SelfLayer(self, next(numbers)))


@dataclass(slots=True)
class Encoded(Reading):
    """The cache of a batch of queries in an encoder-decoder: with the encoder's states."""

    encoded: Tensor  # [Q, S, d]
    mask: Tensor  # [Q, S] True where there is a token

    def __post_init__(self) -> None:
        """Make both caches of transformers, for self-attention and for cross-attention."""
        cross = _hf.Cache(layer_class_to_replicate=lambda: _CrossLayer(self))
        self.states = _hf.EncoderDecoderCache(self._own(), cross)

    def cross_mask(self) -> Tensor:
        """[R, 1, 1, S] which of its query's tokens each row may read."""
        return self.by_row(self.mask)[:, None, None, :]

    def by_row(self, by_query: Tensor) -> Tensor:
        """[R, …] the entry of each row's query; a view if there is one query, else a copy."""
        if len(by_query) == 1:
            return by_query.expand(len(self.rows.queries), *by_query.shape[1:])
        return by_query.index_select(0, self.rows.queries)


class _Layer(_hf.CacheLayerMixin):  # type: ignore[misc]
    """A cache layer of transformers that allocates nothing and has no window or limit."""

    is_sliding = False

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self._reading = reading

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Do nothing: the tree allocates its own memory."""

    def get_seq_length(self) -> int:
        """The number of tokens before the current one in the longest row."""
        return self._reading.rows.length - 1

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """The number of keys that a mask has to cover, and where they start."""
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        """Return −1: there is no limit to the length."""
        return -1


class _SelfLayer(_Layer):
    """The self-attention cache of one decoder layer, read from the tree."""

    def __init__(self, reading: Reading, number: int) -> None:
        super().__init__(reading)
        self._number = number

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> Any:
        """Store one token a row [R, heads, 1, size]; returns its path's [R, heads, L, size]."""
        reading = self._reading
        keys, values = key_states.squeeze(2), value_states.squeeze(2)
        return reading.tree.write(self._number, reading.rows, keys, values)


class _CrossLayer(_Layer):
    """The cross-attention cache of one decoder layer, kept once for each query and read by row."""

    _reading: Encoded

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> Any:
        """Keep what was computed for every query [Q, heads, S, size] in the first step."""
        self._by_query = key_states, value_states
        return self._by_query

    @property
    def keys(self) -> Tensor:
        """[R, heads, S, size] for the query of each row."""
        return self._reading.by_row(self._by_query[0])

    @keys.setter
    def keys(self, _: None) -> None:
        """Ignore the empty value that transformers sets on creation."""

    @property
    def values(self) -> Tensor:
        """[R, heads, S, size] for the query of each row."""
        return self._reading.by_row(self._by_query[1])

    @values.setter
    def values(self, _: None) -> None:
        """Ignore the empty value that transformers sets on creation."""


# Output symbols: the tokenizer's pieces, one symbol for each term, or codes.
#
# A symbol is read (the vector of what was decoded) and written (the score of what may follow).

Vectors = tuple[Tensor, Tensor | None]  # [n, d] of symbols in the output layer, their bias [n]


class Symbols(nn.Module):
    """The input and output vectors of the symbols. With spelling `subword` they are the model's own
    embeddings and output layer. With `word` they are two tables over these, since the vectors by
    which a model reads and writes a piece need not be the same."""

    def __init__(self, parts: Parts, pieces: Ragged | int | None = None) -> None:
        """`pieces` are those of each term, or the number of free symbols; None: the tokenizer's
        own."""
        super().__init__()
        self._parts = parts
        self.inputs: WordTable | FreeTable | None = None
        self.outputs: WordTable | FreeTable | None = None
        if pieces is not None:
            self.inputs = own_table(parts.embeddings, pieces)
            self.outputs = own_table(parts.output, pieces)
        self._selected: tuple[Tensor, Vectors] | None = None
        self._sum: OutputSum | None = None

    @property
    def size(self) -> int:
        """The number of symbols."""
        return self._parts.output.out_features if self.outputs is None else self.outputs.size

    def read(self, symbols: Tensor) -> Tensor:
        """The input vectors [..., d] of symbols [...]."""
        table = self._parts.embeddings if self.inputs is None else self.inputs
        vectors: Tensor = table(symbols)
        return vectors

    def write(self, hidden: Tensor, symbols: Tensor | None = None) -> Tensor:
        """Scores [..., size] over all symbols, or [..., len(symbols)] over some of them."""
        if symbols is None or torch.is_grad_enabled():
            return functional.linear(hidden, *self._vectors(symbols))
        selected = self._selected  # one read: another thread may be searching for others
        if selected is None or selected[0] is not symbols:
            # A search asks for the same symbols in every step: gather their vectors once.
            selected = self._selected = symbols, self._vectors(symbols)
        return functional.linear(hidden, *selected[1])

    @torch.no_grad()
    def log_normaliser(self, hidden: Tensor) -> Tensor:
        """log Σ exp of the scores [R, size] of each state, [R]."""
        vectors, known = self._vectors(None), self._sum
        if known is None or not known.is_of(*vectors):
            known = self._sum = OutputSum(*vectors)
        return known(hidden)

    def with_symbols(self, kept: Int32, new: Ragged) -> Self:
        """Other terms as the symbols of both tables; see `WordTable.with_symbols`."""
        other = shared(self)
        assert isinstance(self.inputs, WordTable)
        assert isinstance(self.outputs, WordTable)
        other.inputs = self.inputs.with_symbols(kept, new)
        other.outputs = self.outputs.with_symbols(kept, new)
        other._selected = other._sum = None
        return other

    def train(self, mode: bool = True) -> "Symbols":
        """Switch modes; forgets vectors gathered for an earlier search."""
        self._selected = self._sum = None
        return super().train(mode)

    def _vectors(self, symbols: Tensor | None) -> Vectors:
        if self.outputs is not None:
            return self.outputs(symbols), None
        weight, bias = self._parts.output.weight, self._parts.bias()
        if symbols is None:
            return weight, bias
        return weight[symbols], None if bias is None else bias[symbols]


WORDS_FILE = "words.safetensors"


class HFBackbone(Backbone):
    """A model of transformers with its tokenizer and output symbols.

    Subclasses read the queries and run the decoder.
    """

    def __init__(self, model: Any, tokenizer: Any, query_tokens: int, parts: Parts) -> None:
        super().__init__()
        self.model, self.tokenizer, self.query_tokens = model.eval(), tokenizer, query_tokens
        self._parts, self._finish = parts, parts.finishes[0]
        self.symbols = Symbols(parts)

    def one_symbol_a_term(self, terms: Sequence[str]) -> None:
        """Write terms as one symbol each, instead of the tokenizer's pieces."""
        self._write(word_pieces(self.tokenizer, terms))

    def write_free_symbols(self, count: int) -> None:
        """Write `count` symbols with vectors of their own, instead of the tokenizer's pieces."""
        self._write(count)

    @property
    def query_encoder(self) -> Any:
        """The encoder; in a decoder-only model the decoder itself."""
        return self._parts.encoder

    @property
    def spelling(self) -> str:
        """`word` if the model writes terms or codes as symbols of their own, `subword` if it writes
        pieces."""
        return "subword" if self.symbols.outputs is None else "word"

    @property
    def output_size(self) -> int:
        """The number of the tokenizer's pieces, or of terms."""
        return self.symbols.size

    def keep(self, cache: Reading, nodes: Tensor) -> Tensor:
        """Forget everything but the paths of `nodes` [R]; returns their new numbers [R]."""
        return cache.tree.keep(nodes)

    @torch.no_grad()
    def logits(self, hidden: Tensor, tokens: Tensor | None = None) -> Tensor:
        """Scores [R, V] over all output symbols, or [R, len(tokens)] over some of them."""
        return self.symbols.write(hidden, tokens)

    def log_normaliser(self, hidden: Tensor) -> Tensor:
        """log Σ exp of all scores of each state, [R]."""
        return self.symbols.log_normaliser(hidden)

    def with_symbols(self, kept: Int32, new: Ragged) -> Self:
        """The same model, its weights shared, with other terms as its symbols (`word` spelling):
        symbol i is this one's symbol kept[i] or, where that is −1, the next of `new` by pieces."""
        other = shared(self)
        other.symbols = self.symbols.with_symbols(kept, new)
        return other

    def save(self, folder: Path) -> None:
        """Write model and tokenizer as transformers does, with the tables of symbols of their
        own."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        if self.symbols.outputs is not None:
            with write_beside(folder / WORDS_FILE) as beside:
                save_file(self.symbols.state_dict(), beside)

    def restore_words(self, folder: Path) -> None:
        """Read back the tables that `save` wrote, if it wrote any."""
        if (folder / WORDS_FILE).is_file():
            saved = load_file(folder / WORDS_FILE)
            free = saved.get("outputs.weight")
            if free is not None:
                self._write(len(free))
            else:
                pieces = (saved[f"outputs.{name}"].numpy() for name in ("_offsets", "_values"))
                self._write(Ragged(*pieces))
            self.symbols.load_state_dict(saved)

    @property
    def _device(self) -> torch.device:
        return self._parts.output.weight.device

    def _write(self, pieces: Ragged | int) -> None:
        bias = self._parts.bias()
        if bias is not None:
            bias.requires_grad_(False)  # that of pieces: nothing would ever train it
        self.symbols = Symbols(self._parts, pieces).to(self._device).eval()

    @torch.no_grad()
    def _choose_finish(
        self, start: Callable[[], tuple[Any, Tensor, Tensor]], path: Tensor, expected: Tensor
    ) -> None:
        """Choose the step before the output layer that gives the model's own scores.

        A model taken apart wrongly would rank wrongly without any error. So steps of different
        depths along `path` [2] are compared with the model's own forward pass [3, V], and a model
        that agrees with no choice, or that cannot step at all, is refused.
        """
        for finish in self._parts.finishes:
            self._finish = finish
            try:
                cache, root, first = start()
                node, second = self.step(cache, root, path[:1])
                _, both = self.step(cache, torch.cat((root, node)), path)  # of depths 1 and 2
            except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
                break  # foreign layers fail in ways of their own
            found = self.logits(torch.cat((first, second, both[1:])))
            if same_scores(found, expected) and same_scores(both[:1], second):
                return
        raise unsupported(self.model)
