"""log p of what may come next, with logits computed only where the definition needs them.

- `full`: log p = logit − log Σ exp over all outputs of the model, as in the paper.
- `docid`: the sum runs over the tokens that occur in identifiers; other logits are not computed.
- `valid`: the sum runs over the tokens that are valid at that point; other logits are not computed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.constrain.constraint import Allowed, Int, Int32
from tsgen.decode.config import DecodeConfig
from tsgen.decode.select import Best, Float, best_entries, valid_normaliser
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone

BLOCK = 2**24  # logits held at once: 64 MB


@dataclass(frozen=True, slots=True)
class Block:
    """A run of queries whose logits fit into memory together."""

    allowed: Allowed
    rows: slice  # the cursors of these queries
    queries: slice
    first: Int  # [queries + 1] where each query's cursors begin within the block
    logits: NDArray[np.float32]  # [C, columns]
    column: Int32  # [V] the column of each token
    normaliser: Float  # [C]

    def best(self, score: Float, floor: Float, rooms: tuple[int, int]) -> tuple[Best, Best]:
        """The best entries that close a unit and those that do not, with cursors counted from the
        block's first; `score` and `floor` are those of all cursors and queries."""
        return best_entries(
            self.logits,
            self.column,
            score[self.rows],
            self.normaliser,
            floor[self.queries],
            self.first,
            self.allowed.starts[self.rows],
            self.allowed.ends[self.rows],
            self.allowed.tokens,
            self.allowed.closes,
            *rooms,
        )


class Scorer:
    """One definition of log p for the outputs of one backbone."""

    def __init__(self, backbone: Backbone, alphabet: Int32, config: DecodeConfig) -> None:
        self._backbone, self._config = backbone, config
        self._outputs = backbone.output_size
        if len(alphabet) and alphabet[-1] >= self._outputs:
            raise ConfigError(
                f"identifiers contain token {alphabet[-1]} but the model has only {self._outputs} "
                "outputs: load the model together with the identifiers it was trained for"
            )
        self._column = np.arange(self._outputs, dtype=np.int32)
        self._tokens: torch.Tensor | None = None
        if config.normalise == "docid":
            self._column = self._columns(alphabet)
            self._tokens = torch.from_numpy(alphabet.astype(np.int64))

    def blocks(self, hidden: torch.Tensor, allowed: Allowed, first: Int) -> Iterator[Block]:
        """Score what may follow each cursor; query q has the cursors first[q]:first[q + 1]."""
        most, start = max(1, BLOCK // self._outputs), 0
        for stop in range(1, len(first)):
            if stop == len(first) - 1 or first[stop + 1] - first[start] > most:
                rows = slice(first[start], first[stop])
                within = first[start : stop + 1] - first[start]
                scored = self._logits(hidden[rows], allowed, rows)
                yield Block(allowed, rows, slice(start, stop), within, *scored)
                start = stop

    def _logits(
        self, hidden: torch.Tensor, allowed: Allowed, rows: slice
    ) -> tuple[NDArray[np.float32], Int32, Float]:
        if self._config.normalise == "valid":
            return self._valid_logits(hidden, allowed, rows)
        if self._tokens is not None:
            self._tokens = self._tokens.to(hidden.device)
        scores = self._scaled(self._backbone.logits(hidden, self._tokens))
        normaliser = torch.logsumexp(scores, dim=-1).double().cpu().numpy()
        if scores.device.type == "cpu":
            return scores.numpy(), self._column, normaliser
        # Another device: fetch only the columns that can be chosen.
        wanted = self._distinct(allowed.tokens)
        scores = scores[:, torch.from_numpy(self._column[wanted]).to(scores.device)]
        return scores.cpu().numpy(), self._columns(wanted), normaliser

    def _valid_logits(
        self, hidden: torch.Tensor, allowed: Allowed, rows: slice
    ) -> tuple[NDArray[np.float32], Int32, Float]:
        wanted = self._distinct(allowed.tokens)
        chosen = torch.from_numpy(wanted.astype(np.int64)).to(hidden.device)
        logits = self._scaled(self._backbone.logits(hidden, chosen)).cpu().numpy()
        column, starts, ends = self._columns(wanted), allowed.starts[rows], allowed.ends[rows]
        return logits, column, valid_normaliser(logits, column, starts, ends, allowed.tokens)

    def _scaled(self, logits: torch.Tensor) -> torch.Tensor:
        logits = logits.float().contiguous()
        return logits if self._config.temperature == 1 else logits / self._config.temperature

    def _distinct(self, tokens: Int32) -> Int32:
        """The tokens that occur, ascending."""
        marks = np.zeros(self._outputs, dtype=np.bool_)
        marks[tokens] = True
        return np.flatnonzero(marks).astype(np.int32)

    def _columns(self, tokens: Int32) -> Int32:
        """[V] where each of these tokens stands among them."""
        column = np.zeros(self._outputs, dtype=np.int32)
        column[tokens] = np.arange(len(tokens), dtype=np.int32)
        return column
