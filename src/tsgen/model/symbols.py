"""The output symbols of a transformers model: its own pieces, one symbol a term, or free ones.

Symbols are read (the vectors of what was decoded) and written (the scores of what may come next).
"""

from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from tsgen.constrain.constraint import Int32, Ragged
from tsgen.model.hf_parts import Parts
from tsgen.model.vocabulary import FreeTable, WordTable, own_table, shared

Vectors = tuple[Tensor, Tensor | None]  # [n, d] of symbols in the output layer, their bias [n]


class Symbols(nn.Module):
    """`subword`: the model's own embeddings and output layer. `word`: two tables over them, since
    what a model reads and what it writes a piece by need not be the same vectors."""

    def __init__(self, parts: Parts, pieces: Ragged | int | None = None) -> None:
        """Terms by their `pieces`, or so many free symbols; None: the model's own pieces."""
        super().__init__()
        self._parts = parts
        self.inputs: WordTable | FreeTable | None = None
        self.outputs: WordTable | FreeTable | None = None
        if pieces is not None:
            self.inputs = own_table(parts.embeddings, pieces)
            self.outputs = own_table(parts.output, pieces)
        self._selected: tuple[Tensor, Vectors] | None = None

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

    def with_symbols(self, kept: Int32, new: Ragged) -> Self:
        """Other terms as the symbols of both tables; see `WordTable.with_symbols`."""
        other = shared(self)
        assert isinstance(self.inputs, WordTable)
        assert isinstance(self.outputs, WordTable)
        other.inputs = self.inputs.with_symbols(kept, new)
        other.outputs = self.outputs.with_symbols(kept, new)
        other._selected = None
        return other

    def train(self, mode: bool = True) -> "Symbols":
        """Switch modes; forgets vectors gathered for an earlier search."""
        self._selected = None
        return super().train(mode)

    def _vectors(self, symbols: Tensor | None) -> Vectors:
        if self.outputs is not None:
            return self.outputs(symbols), None
        weight, bias = self._parts.output.weight, self._parts.bias()
        if symbols is None:
            return weight, bias
        return weight[symbols], None if bias is None else bias[symbols]
