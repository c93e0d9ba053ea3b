"""The small backbone's decoder: pre-norm layers, run on whole targets or step by step.

A layer's states look at what was written so far: at the states of the tokens before them (a usual
decoder, which knows their order), or at vectors that say nothing but which tokens they are. Then
all that a state can know of them is their set.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tsgen.model.tree_cache import Rows, TreeCache


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows arranged by query in a grid [Q, M]: a query's keys then serve all its rows at once."""

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
    """What the encoder read, as one layer's keys and values, and which of it is not padding."""

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
        """All positions of the targets at once: states [Q, T, d], causal. They look at one another,
        or at what was `written` [Q, T, d]."""
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
        """One new token a row: states [R, d], and what was `written` [R, d], if they look at it."""
        query, key, value = (
            part.view(len(states), self.heads, -1) for part in self._look(states, written)
        )
        keys, values = tree.write(layer, rows, key, value)
        mask = None if rows.mask is None else rows.mask[:, None, None, :]
        seen = functional.scaled_dot_product_attention(query[:, :, None], keys, values, mask)
        states = states + self.self_out(seen.reshape(len(states), -1))
        asked = groups.spread(self._ask(states))
        states = states + self.cross_out(groups.collect(self._cross(asked, memory)))
        return states + self._feed_forward(states)

    def _look(self, states: Tensor, written: Tensor | None) -> tuple[Tensor, ...]:
        """The queries of the states, and keys and values of what they look at, all [..., d]."""
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
        """What the queries [Q, T, d] read from the memory."""
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
