"""The tree cache in the shape that transformers' attention layers expect of a cache.

Transformers asks a cache layer to store one new token a row and to hand back all keys and values
of that row. Here the row's path in the tree answers, so beams are never copied or reordered.
"""

from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from typing import Any

import torch
from torch import Tensor

from tsgen.model.tree_cache import Rows, TreeCache

_hf: Any = import_module("transformers.cache_utils")  # partly typed: taken as untyped


@dataclass(slots=True)
class Reading:
    """A batch of queries: its tree, the rows of the current step, and both as transformers' cache.

    A decoder-only model's prompts are in the tree; what an encoder read is beside it.
    """

    tree: TreeCache
    rows: Rows
    states: Any = field(init=False)  # what the decoder is called with

    def __post_init__(self) -> None:
        """Layers are made as the decoder first uses them."""
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
    """A batch of queries that an encoder read."""

    encoded: Tensor  # [Q, S, d]
    mask: Tensor  # [Q, S] True where there is a token

    def __post_init__(self) -> None:
        """Both halves get their layers as the decoder first uses them."""
        cross = _hf.Cache(layer_class_to_replicate=lambda: _CrossLayer(self))
        self.states = _hf.EncoderDecoderCache(self._own(), cross)

    def cross_mask(self) -> Tensor:
        """[R, 1, 1, S] which of its query's tokens each row may read."""
        return self.by_row(self.mask)[:, None, None, :]

    def by_row(self, by_query: Tensor) -> Tensor:
        """The entry of each row's query: a view while there is one query, else a copy."""
        if len(by_query) == 1:
            return by_query.expand(len(self.rows.queries), *by_query.shape[1:])
        return by_query.index_select(0, self.rows.queries)


class _Layer(_hf.CacheLayerMixin):  # type: ignore[misc]
    """What both kinds have in common: nothing to allocate, no window, no limit."""

    is_sliding = False

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self._reading = reading

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to do: the tree allocates."""

    def get_seq_length(self) -> int:
        """Tokens before the current one in the longest row."""
        return self._reading.rows.length - 1

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Keys that a mask has to cover, and where they start."""
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        """No limit."""
        return -1


class _SelfLayer(_Layer):
    """One decoder layer's view of the tree."""

    def __init__(self, reading: Reading, number: int) -> None:
        super().__init__(reading)
        self._number = number

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> Any:
        """Store one token a row [R, heads, 1, size]; returns its path's [R, heads, L, size]."""
        reading = self._reading
        keys, values = key_states.squeeze(2), value_states.squeeze(2)
        return reading.tree.write(self._number, reading.rows, keys, values)


class _CrossLayer(_Layer):
    """One decoder layer's keys and values of the queries, chosen by row when they are read."""

    _reading: Encoded

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> Any:
        """Keep what was computed for every query [Q, heads, S, size] in the first step."""
        self._by_query = key_states, value_states
        return self._by_query

    @property
    def keys(self) -> Tensor:
        """[R, heads, S, size]."""
        return self._reading.by_row(self._by_query[0])

    @keys.setter
    def keys(self, _: None) -> None:
        """Ignore the empty value that transformers sets on creation."""

    @property
    def values(self) -> Tensor:
        """[R, heads, S, size]."""
        return self._reading.by_row(self._by_query[1])

    @values.setter
    def values(self, _: None) -> None:
        """Ignore the empty value that transformers sets on creation."""
