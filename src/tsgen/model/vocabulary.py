"""Tables of vectors for the output symbols, which the decoder reads and writes.

`subword`: the pieces of the encoder's tokenizer, with the encoder's own input embeddings.
`word`: one symbol for each term, with a vector composed of the term's pieces by a learned map, so
that terms that never occurred in training have vectors, too:  e(t) = W · (1/n) Σ_j g_j E[piece_j].
Free symbols: codes, each with a vector of its own.
"""

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tsgen.constrain.constraint import Int32, Ragged

GATES = 8  # pieces after the eighth share a gate


Module = TypeVar("Module", bound=nn.Module)


def shared(module: Module) -> Module:
    """Copy a module so that both share all weights; parts of the copy may then be replaced."""
    other = copy(module)
    for parts in ("_parameters", "_buffers", "_modules"):
        other.__dict__[parts] = dict(module.__dict__[parts])
    return other


def pieces_in_text(tokenizer: Any, terms: Sequence[str]) -> list[list[int]]:
    """The pieces of each term inside running text. At the start of a text they may be others:
    byte-level tokenizers write "bread" there and " bread" inside."""

    def tokenize(texts: Sequence[str]) -> list[list[int]]:
        rows: list[list[int]] = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return rows

    before, *after = tokenize([",", *(f", {term}" for term in terms)])
    cut = len(before)
    return [
        row[cut:] if row[:cut] == before else tokenize([term])[0]  # if it merges over the space
        for term, row in zip(terms, after, strict=True)
    ]


def word_pieces(tokenizer: Any, terms: Sequence[str]) -> Ragged:
    """The subword pieces of each term, in term order; a term without any gets the unknown piece."""
    rows = [row or [tokenizer.unk_token_id or 0] for row in pieces_in_text(tokenizer, terms)]
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Ragged(offsets, np.array([piece for row in rows for piece in row], dtype=np.int32))


class SubwordTable(nn.Module):
    """The encoder's input embeddings as the table of its pieces, without weights of its own."""

    def __init__(self, embeddings: nn.Embedding) -> None:
        super().__init__()
        self._shared = [embeddings]  # in a list, so that the weights stay registered once

    @property
    def size(self) -> int:
        """The number of output symbols."""
        return self._shared[0].num_embeddings

    def forward(self, tokens: Tensor | None = None) -> Tensor:
        """The vectors [..., d] of `tokens`, or of all symbols [V, d]."""
        weight = self._shared[0].weight
        return weight if tokens is None else functional.embedding(tokens, weight)

    def pieces(self, tokens: Tensor) -> Tensor:
        """The vectors [..., d] of the encoder's tokens minus the mean of all vectors."""
        weight = self._shared[0].weight
        return functional.embedding(tokens, weight) - weight.mean(dim=0)


class FreeTable(nn.Module):
    """One vector of its own for each symbol, which means nothing before training."""

    def __init__(self, layer: nn.Embedding | nn.Linear, symbols: int) -> None:
        super().__init__()
        width, spread = layer.weight.shape[1], layer.weight.std().item()
        self.weight = nn.Parameter(torch.randn(symbols, width) * spread)

    @property
    def size(self) -> int:
        """The number of output symbols."""
        return len(self.weight)

    def forward(self, tokens: Tensor | None = None) -> Tensor:
        """The vectors [..., d] of `tokens`, or of all symbols [V, d]."""
        return self.weight if tokens is None else functional.embedding(tokens, self.weight)

    def pieces(self, tokens: Tensor) -> Tensor:
        """Return zeros [..., d]: no free symbol is similar to a word."""
        return self.weight.new_zeros(*tokens.shape, self.weight.shape[1])


class WordTable(nn.Module):
    """One vector a term, composed from the vectors of its pieces, the rows of a layer's weight."""

    _offsets: Tensor
    _values: Tensor

    def __init__(self, layer: nn.Embedding | nn.Linear, pieces: Ragged) -> None:
        super().__init__()
        self._shared = [layer]
        self.register_buffer("_offsets", torch.from_numpy(pieces.offsets.astype(np.int64)))
        self.register_buffer("_values", torch.from_numpy(pieces.values.astype(np.int32)))
        self.gates = nn.Parameter(torch.ones(GATES))
        width = layer.weight.shape[1]
        self.map = nn.Linear(width, width, bias=False)
        nn.init.eye_(self.map.weight)  # before training a term is the mean of its pieces
        with torch.no_grad():  # … as the layer hands them out: some of BART's family scale them
            self.map.weight.mul_(float(getattr(layer, "embed_scale", 1.0)))
        self._composed: Tensor | None = None

    @property
    def size(self) -> int:
        """The number of output symbols."""
        return len(self._offsets) - 1

    def train(self, mode: bool = True) -> "WordTable":
        """Switch modes; the composed table is thrown away because the weights may change."""
        self._composed = None
        return super().train(mode)

    def forward(self, tokens: Tensor | None = None) -> Tensor:
        """The vectors [..., d] of `tokens`, or of all symbols [V, d]."""
        if self.training or torch.is_grad_enabled():
            return self._compose(tokens)
        if self._composed is None:
            self._composed = self._compose(None)
        return self._composed if tokens is None else functional.embedding(tokens, self._composed)

    def pieces(self, tokens: Tensor) -> Tensor:
        """The vectors [..., d] that terms of one piece would have, minus the mean of all
        vectors."""
        weight = self._shared[0].weight
        found: Tensor = self.map(functional.embedding(tokens, weight) - weight.mean(dim=0))
        return self.gates[0] * found

    def with_symbols(self, kept: Int32, new: Ragged) -> Self:
        """A table of other symbols over the same weights, which keeps the vectors that were
        composed.

        Args:
            kept: [V'] symbol i becomes this table's symbol kept[i] or, where that is −1, the next
                of `new`.
            new: The pieces of each new symbol.
        """
        fresh = np.flatnonzero(kept < 0)
        order = kept.astype(np.int64)
        order[fresh] = self.size + np.arange(len(fresh))
        offsets, values = self._offsets.cpu().numpy(), self._values.cpu().numpy()
        both = Ragged(
            np.concatenate((offsets, offsets[-1] + new.offsets[1:])),
            np.concatenate((values, new.values)),
        ).take(order)
        other, device = shared(self), self._offsets.device
        other._offsets = torch.from_numpy(both.offsets).to(device)
        other._values = torch.from_numpy(both.values).to(device)
        other._composed = None
        if self._composed is not None:
            with torch.no_grad():
                known = torch.from_numpy(kept.astype(np.int64)).clamp(min=0).to(device)
                composed = functional.embedding(known, self._composed)
                if len(fresh):
                    places = torch.from_numpy(fresh).to(device)
                    composed[places] = other._compose(places)
                other._composed = composed
        return other

    def _compose(self, tokens: Tensor | None) -> Tensor:
        if tokens is None:
            return self._compose(torch.arange(self.size, device=self.gates.device))
        flat = tokens.flatten()
        first, lengths = self._offsets[flat], self._offsets[flat + 1] - self._offsets[flat]
        starts = lengths.cumsum(0) - lengths  # [n] where each term's pieces begin in the flat list
        owner = torch.repeat_interleave(lengths)  # [P] the term each piece belongs to
        place = torch.arange(len(owner), device=flat.device) - starts[owner]
        pieces = self._values[first[owner] + place].long()
        share = self.gates[place.clamp(max=GATES - 1)] / lengths[owner]
        mean = functional.embedding_bag(
            pieces, self._shared[0].weight, starts, mode="sum", per_sample_weights=share
        )
        vectors: Tensor = self.map(mean)
        return vectors.view(*tokens.shape, vectors.shape[-1])


def own_table(layer: nn.Embedding | nn.Linear, symbols: Ragged | int) -> WordTable | FreeTable:
    """Make a table of terms by their pieces, or of a number of free symbols."""
    return FreeTable(layer, symbols) if isinstance(symbols, int) else WordTable(layer, symbols)


def table_of(
    embeddings: nn.Embedding, symbols: Ragged | int | None
) -> SubwordTable | WordTable | FreeTable:
    """Make a table as `own_table` does, or with None the table of the tokenizer's pieces."""
    return SubwordTable(embeddings) if symbols is None else own_table(embeddings, symbols)


@lru_cache(maxsize=2)
def whole_words(tokenizer: Any) -> frozenset[str]:
    """The words that a tokenizer has as single pieces, without the mark that begins a word."""
    pieces = (str(piece).strip("▁Ġ") for piece in tokenizer.get_vocab())
    return frozenset(piece for piece in pieces if piece.isalpha())
