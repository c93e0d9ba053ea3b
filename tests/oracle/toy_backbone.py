"""A backbone without weights: logits are a pseudo-random function of the query and the tokens."""

from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np
import torch

from tsgen.constrain.kernels import member_keys

Prefix = tuple[int, ...]


def as_it_is(prefix: Prefix) -> object:
    """Every order of tokens has its own logits."""
    return prefix


def as_sets(terminator: int) -> Callable[[Prefix], object]:
    """Logits depend on the set of finished terms and on the tokens of the unfinished one."""

    def view(prefix: Prefix) -> object:
        terms: list[Prefix] = []
        start = 0
        for place, token in enumerate(prefix):
            if token == terminator:
                terms.append(prefix[start : place + 1])
                start = place + 1
        return sorted(terms), prefix[start:]

    return view


def as_set_of_tokens(prefix: Prefix) -> object:
    """For one token a term: logits depend on the set of tokens."""
    return sorted(prefix)


class ToyBackbone:
    """Counts its rows, and forgets nodes when told to, so a search must use the numbers it gets."""

    order_free = False

    def __init__(
        self, outputs: int, view: Callable[[Prefix], object] = as_it_is, spread: float = 4.0
    ) -> None:
        self.output_size, self._view, self._spread = outputs, view, spread
        self.rows = self.scored = 0
        self._rows: dict[str, np.ndarray] = {}

    def encode(
        self, queries: Sequence[str]
    ) -> tuple[list[tuple[str, Prefix]], torch.Tensor, torch.Tensor]:
        cache: list[tuple[str, Prefix]] = [(query, ()) for query in queries]
        return cache, torch.arange(len(cache)), self._hidden(cache)

    def step(
        self,
        cache: list[tuple[str, Prefix]],
        parents: torch.Tensor,
        tokens: torch.Tensor,
        lengths: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        assert len(parents), "a step without rows is wasted"
        self.rows += len(tokens)
        paths = tokens.split(1 if lengths is None else lengths.tolist())
        new = [
            (cache[parent][0], (*cache[parent][1], *path.tolist()))
            for parent, path in zip(parents.tolist(), paths, strict=True)
        ]
        cache.extend(new)
        return torch.arange(len(cache) - len(new), len(cache)), self._hidden(new)

    def keep(self, cache: list[tuple[str, Prefix]], nodes: torch.Tensor) -> torch.Tensor:
        cache[:] = [cache[node] for node in nodes.tolist()]
        return torch.arange(len(cache))

    def logits(self, hidden: torch.Tensor, tokens: torch.Tensor | None = None) -> torch.Tensor:
        self.scored += len(hidden)
        return hidden if tokens is None else hidden[:, tokens]

    def log_normaliser(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.logsumexp(hidden, dim=-1)

    def row(self, query: str, prefix: Prefix) -> np.ndarray:
        """The logits [V] after a prefix, in float32 as a model has them."""
        key = repr((query, self._view(prefix)))
        if key not in self._rows:
            mixed = member_keys(np.arange(self.output_size) + (crc32(key.encode()) << 20))
            uniform = mixed[:, 0] / 2.0**64
            self._rows[key] = (self._spread * (2 * uniform - 1)).astype(np.float32)
        return self._rows[key]

    def _hidden(self, prefixes: Sequence[tuple[str, Prefix]]) -> torch.Tensor:
        rows = np.array([self.row(*prefix) for prefix in prefixes], dtype=np.float32)
        return torch.from_numpy(rows.reshape(len(prefixes), self.output_size))


class FixedBackbone(ToyBackbone):
    """The same logits after every prefix."""

    def __init__(self, logits: list[float]) -> None:
        super().__init__(len(logits))
        self._fixed = np.array(logits, dtype=np.float32)

    def row(self, query: str, prefix: tuple[int, ...]) -> np.ndarray:
        return self._fixed
