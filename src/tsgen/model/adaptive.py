"""Output vectors that are adapted to the prefix.

    scores = h · W(X),   W(X) = W (I + U diag(g(X)) V)ᵀ

g(X) comes from a net of its own that reads the prefix X alone: one layer of attention over the
symbols so far and their places. So what a symbol means may depend on what stands before it, as the
third code of one cluster has nothing to do with that of another. Since W(X) stands only in that
product, the state is adapted instead of the whole table: h + U(g(X) ⊙ Vᵀh).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from tsgen.model.tree_cache import Rows, TreeCache


class Adaptive(nn.Module):
    """The net that reads prefixes, and the map that it adapts."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.norm, self.look = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.inner, self.gate = nn.Linear(width, width), nn.Linear(width, rank)
        self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)

    def forward(self, hidden: Tensor, prefix: Tensor) -> Tensor:
        """All positions at once: states [Q, T, d] and the vectors that led to them [Q, T, d]."""
        query, key, value = self.look(self.norm(prefix)).chunk(3, dim=-1)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self._adapted(hidden, prefix + seen)

    def step(
        self, hidden: Tensor, prefix: Tensor, layer: int, tree: TreeCache, rows: Rows
    ) -> Tensor:
        """One new token a row: states [R, d], its vector [R, d]; `layer` is free in the tree."""
        query, key, value = self.look(self.norm(prefix)).chunk(3, dim=-1)
        keys, values = tree.write(layer, rows, key[:, None], value[:, None])  # [R, 1, L, d]
        mask = None if rows.mask is None else rows.mask[:, None, None, :]
        seen = functional.scaled_dot_product_attention(query[:, None, None], keys, values, mask)
        return self._adapted(hidden, prefix + seen.flatten(1))

    def _adapted(self, hidden: Tensor, prefix: Tensor) -> Tensor:
        gate = self.gate(functional.gelu(self.inner(prefix)))
        out: Tensor = hidden + self.up(torch.tanh(gate) * self.down(hidden))
        return out
