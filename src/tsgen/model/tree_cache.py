"""A cache of keys and values in the form of a tree, so that beams share their common prefixes.

A node is one decoded token and owns one slot of every layer's pool. A node's path is the list of
slots from its root to itself; a step gathers the paths of its rows right-aligned, so the newest
token is in the last column whatever the depth, and relative positions hold in ragged batches.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

FIRST_SLOTS = 256
FIRST_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Rows:
    """The new nodes of one step, with the path that each attends to."""

    nodes: Tensor  # [R] int64
    slots: Tensor  # [R, L] int32 each row's path, right-aligned, its own slot last
    mask: Tensor | None  # [R, L] True where the row has a token; None if no row is shorter than L
    depths: Tensor  # [R] int64 tokens before this one
    queries: Tensor  # [R] int64 the query each row belongs to
    last: Tensor | None = None  # the rows that end a path, where paths are longer than a row

    @property
    def length(self) -> int:
        """L, the longest path."""
        return self.slots.shape[1]

    def ends(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Select the rows that end a path: their nodes, and their states out of those of all rows
        [R, d]."""
        if self.last is None:
            return self.nodes, hidden
        return self.nodes[self.last], hidden[self.last]


class TreeCache:
    """Pools of keys and values, doubled when full, and a table of paths into them."""

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self._pools: list[Tensor] = []  # per layer [slots, 2, heads, head size]
        self._paths = torch.zeros(FIRST_SLOTS, FIRST_DEPTH, dtype=torch.int32, device=device)
        self._depths = torch.zeros(FIRST_SLOTS, dtype=torch.int64, device=device)
        self._queries = torch.zeros(FIRST_SLOTS, dtype=torch.int64, device=device)
        self._count = 0

    def __len__(self) -> int:
        """The number of nodes."""
        return self._count

    def roots(self, queries: int) -> Rows:
        """One node without a parent for each query."""
        return self.prompts(torch.ones(queries, dtype=torch.int64, device=self._paths.device))

    def prompts(self, lengths: Tensor) -> Rows:
        """A path of `lengths` [Q] nodes for each query; the rows are all nodes, path after path."""
        queries = torch.repeat_interleave(lengths)
        starts = lengths.cumsum(0) - lengths
        depths = torch.arange(len(queries), device=lengths.device) - starts[queries]
        return self._append(depths, queries, parents=None)

    def extend(self, parents: Tensor, lengths: Tensor | None = None) -> Rows:
        """One child for each of `parents` [R]; a parent may occur several times. With `lengths` [R]
        a path of so many nodes for each; the rows are all nodes, path after path."""
        if lengths is None:
            return self._append(self._depths[parents] + 1, self._queries[parents], parents)
        owner, ends = parents.repeat_interleave(lengths), lengths.cumsum(0)
        starts = (ends - lengths).repeat_interleave(lengths)
        place = torch.arange(len(owner), device=parents.device) - starts
        depths = self._depths[owner] + 1 + place
        return replace(self._append(depths, self._queries[owner], owner, place), last=ends - 1)

    def write(self, layer: int, rows: Rows, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store the rows' new keys and values [R, heads, size]; return those of their whole paths.

        Both are [R, heads, L, size]. In the first step layers are written in order.
        """
        pool = self.fill(layer, rows, keys, values)
        path = pool.index_select(0, rows.slots.flatten())  # [R · L, 2, heads, size]
        path = path.view(*rows.slots.shape, *pool.shape[1:]).permute(2, 0, 3, 1, 4)
        return path[0], path[1]

    def fill(self, layer: int, rows: Rows, keys: Tensor, values: Tensor) -> Tensor:
        """Store the rows' keys and values [R, heads, size] and return the layer's whole pool."""
        pool = self._pool(layer, keys)
        pool[rows.nodes] = torch.stack((keys, values), dim=1)
        return pool

    def keep(self, nodes: Tensor) -> Tensor:
        """Drop every slot that is on no path of `nodes` [R]; returns their new numbers [R]."""
        alive = torch.zeros(self._count, dtype=torch.bool, device=nodes.device)
        longest = int(self._depths[nodes].max()) + 1 if len(nodes) else 0
        on_path = torch.arange(longest, device=nodes.device) <= self._depths[nodes, None]
        alive[self._paths[nodes, :longest][on_path].long()] = True
        kept = alive.nonzero().squeeze(1)
        renumbered = alive.cumsum(0) - 1  # [count] meaningful for kept slots only
        paths = self._paths[kept]
        # Behind a node's depth are leftovers that may point at dropped slots: any number will do.
        self._paths[: len(kept)] = renumbered[paths.long().clamp(max=self._count - 1)].clamp(min=0)
        for table in (self._depths, self._queries, *self._pools):
            table[: len(kept)] = table[kept]
        self._count = len(kept)
        return renumbered[nodes]

    def _append(
        self, depths: Tensor, queries: Tensor, parents: Tensor | None, place: Tensor | None = None
    ) -> Rows:
        """New nodes with these parents; `place` [R] is how many of the rows before a row are on its
        path, between its parent and itself."""
        first, self._count = self._count, self._count + len(depths)
        nodes = torch.arange(first, self._count, device=depths.device)
        longest = int(depths.max()) + 1 if len(depths) else 1
        self._grow(self._count, longest)
        if parents is None:  # every prompt's slots are consecutive
            columns = torch.arange(longest, device=depths.device)
            self._paths[first : self._count, :longest] = (nodes - depths)[:, None] + columns
        else:
            self._paths[first : self._count] = self._paths[parents]
            self._paths[nodes, depths] = nodes.to(torch.int32)
        if place is not None:
            for back in range(1, int(place.max()) + 1):
                later = nodes[place >= back]
                self._paths[later, depths[place >= back] - back] = (later - back).to(torch.int32)
        self._depths[first : self._count] = depths
        self._queries[first : self._count] = queries
        slots, mask = self._right_aligned(nodes, depths, longest)
        return Rows(nodes, slots, mask, depths, queries)

    def _right_aligned(
        self, nodes: Tensor, depths: Tensor, longest: int
    ) -> tuple[Tensor, Tensor | None]:
        """Paths [R, longest] that all end in the last column, and where they are not padding."""
        paths = self._paths[nodes, :longest]
        padding = longest - 1 - depths  # [R]
        if not padding.any():
            return paths, None
        column = torch.arange(longest, device=nodes.device) - padding[:, None]  # [R, longest]
        return paths.gather(1, column.clamp(min=0)), column >= 0

    def _pool(self, layer: int, like: Tensor) -> Tensor:
        """The layer's pool, with room for every node."""
        room = len(self._paths)
        if layer == len(self._pools):
            self._pools.append(like.new_zeros(room, 2, *like.shape[1:]))
        elif len(self._pools[layer]) < room:
            self._pools[layer] = _enlarged(self._pools[layer], room)
        return self._pools[layer]

    def _grow(self, slots: int, depth: int) -> None:
        if depth > self._paths.shape[1]:
            wider = self._paths.new_zeros(len(self._paths), 2 * max(depth, self._paths.shape[1]))
            wider[:, : self._paths.shape[1]] = self._paths
            self._paths = wider
        if slots > len(self._paths):
            room = max(slots, 2 * len(self._paths))
            self._paths = _enlarged(self._paths, room)
            self._depths = _enlarged(self._depths, room)
            self._queries = _enlarged(self._queries, room)


def _enlarged(table: Tensor, room: int) -> Tensor:
    """The same rows with zeros after them, up to `room` rows."""
    larger = table.new_zeros(room, *table.shape[1:])
    larger[: len(table)] = table
    return larger
