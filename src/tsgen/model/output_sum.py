"""log Σ_v exp(h · e(v) + b(v)) over all output symbols v: what the paper's log p is normalised by.

    log p(v | Q, X) = h · e(v) + b(v) − log Σ_u exp(h · e(u) + b(u))

A search needs the first part for the few symbols that are valid after X, and the sum over all of
them: for 200,000 terms that sum is nearly all the work. So it has a way of its own. The symbols'
vectors are rearranged once, in blocks, for oneDNN's matrix product, which uses all that the
processor has (torch's own product for single precision is that of Intel's MKL, which on processors
of others does not); and the scores of a block are added up while they are still in the cache.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

BLOCK = 8192  # symbols
ROWS = 64  # for which blocks are arranged; other numbers are served as well

Scores = Callable[[Tensor], Tensor]
"""States [R, d] → the scores [R, b] of one block of symbols."""


class OutputSum:
    """Adds up all symbols of a table that does not change."""

    def __init__(self, vectors: Tensor, bias: Tensor | None = None) -> None:
        """Arrange the symbols' vectors [V, d], with a bias [V] if there is one."""
        self._vectors, self._bias = vectors, bias
        self._blocks = [
            _block(vectors[start : start + BLOCK], None if bias is None else bias[start:][:BLOCK])
            for start in range(0, len(vectors), BLOCK)
        ]

    def is_of(self, vectors: Tensor, bias: Tensor | None = None) -> bool:
        """Whether it was made for these very tensors, or for another view of the same bias."""
        places = [None if one is None else one.data_ptr() for one in (self._bias, bias)]
        return self._vectors is vectors and places[0] == places[1]

    @torch.no_grad()
    def __call__(self, hidden: Tensor) -> Tensor:
        """The logarithm [R] of the sum for each of the states [R, d]."""
        hidden = hidden.to(self._vectors.dtype).contiguous()
        parts = [torch.logsumexp(scores(hidden).float(), dim=-1) for scores in self._blocks]
        return torch.logsumexp(torch.stack(parts), dim=0)


def _block(vectors: Tensor, bias: Tensor | None) -> Scores:
    if not _arranges(vectors):
        return lambda hidden: functional.linear(hidden, vectors, bias)
    arranged = torch.ops.mkldnn._reorder_linear_weight(vectors.detach().contiguous(), ROWS)
    own = None if bias is None else bias.detach().contiguous()

    def scores(hidden: Tensor) -> Tensor:
        found: Tensor = torch.ops.mkldnn._linear_pointwise(hidden, arranged, own, "none", [], "")
        return found

    return scores


def _arranges(vectors: Tensor) -> bool:
    """Whether oneDNN is there for these numbers. Torch's compiler calls the same two functions."""
    return (
        vectors.device.type == "cpu"
        and vectors.dtype == torch.float32
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
    )
