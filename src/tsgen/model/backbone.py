"""What a language model must offer to the decoder: encode once, then extend any known prefix.

The cache is a tree. A *node* stands for one decoded token together with the path that led to it;
`step` extends any set of nodes by one token each, whatever their depths. Beams that share a prefix
share its nodes, and reordering beams is choosing other node numbers: nothing is copied.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import torch


class Backbone(Protocol):
    """An encoder-decoder, or a decoder-only model with the query as its prompt."""

    @property
    def output_size(self) -> int:
        """The number of output symbols, over which `logits` without `tokens` is defined."""
        ...

    def encode(self, queries: Sequence[str]) -> tuple[Any, torch.Tensor, torch.Tensor]:
        """Read the queries once.

        Returns the cache, the node [Q] at which each query's DocID starts, and the hidden state
        [Q, d] that predicts its first token.
        """
        ...

    def step(
        self,
        cache: Any,
        parents: torch.Tensor,
        tokens: torch.Tensor,
        lengths: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append `tokens` [R] to `parents` [R]: the new nodes [R] and hidden states [R, d].

        With `lengths` [R] so many tokens, path after path in `tokens`, are appended to each parent
        at once, and the nodes and hidden states are those of the last ones.
        """
        ...

    def keep(self, cache: Any, nodes: torch.Tensor) -> torch.Tensor:
        """Forget everything but the paths of `nodes` [R]; returns their new numbers [R]."""
        ...

    def logits(self, hidden: torch.Tensor, tokens: torch.Tensor | None = None) -> torch.Tensor:
        """Scores [R, V] over all output symbols, or [R, len(tokens)] over some of them."""
        ...
