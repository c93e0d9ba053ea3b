"""Hypotheses in the making: a row of the frontier and the tokens of its next unit so far."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from tsgen.constrain.constraint import Bool, Cursor, Int
from tsgen.decode.select import Float


@dataclass(frozen=True, slots=True)
class Candidates:
    """Sorted by query. Some tokens are read by the cursor but not yet by the model: they are to be
    appended to `node` if the candidate is chosen."""

    query: Int  # [C]
    origin: Int  # [C] the live hypothesis that it continues
    cursor: Cursor
    place: Int  # [C] where these tokens begin in `Constraint.spelled`
    unread: Int  # [C] and how many they are
    score: Float  # [C]
    log_prob: Float  # [C] of the unit so far
    node: torch.Tensor  # [C]

    def __len__(self) -> int:
        return len(self.query)

    @staticmethod
    def unspelled(query: Int, cursor: Cursor, score: Float, node: torch.Tensor) -> "Candidates":
        """Hypotheses that have not begun to spell their next unit."""
        nothing, origin = np.zeros(len(query), dtype=np.int64), np.arange(len(query))
        log_prob = np.zeros(len(query))
        return Candidates(query, origin, cursor, nothing, nothing, score, log_prob, node)

    def take(self, picks: Int | Bool) -> "Candidates":
        """Some of the candidates, in the order of `picks`."""
        return Candidates(
            self.query[picks],
            self.origin[picks],
            self.cursor.take(picks),
            self.place[picks],
            self.unread[picks],
            self.score[picks],
            self.log_prob[picks],
            self.node[torch.from_numpy(picks).to(self.node.device)],
        )

    def scored(self, score: Float) -> "Candidates":
        """The same candidates with other scores."""
        return replace(self, score=score)

    @staticmethod
    def join(parts: Sequence["Candidates"]) -> "Candidates":
        """All of them, by query, then best first, then in the order of the parts."""
        joined = Candidates(
            np.concatenate([part.query for part in parts]),
            np.concatenate([part.origin for part in parts]),
            Cursor.join([part.cursor for part in parts]),
            np.concatenate([part.place for part in parts]),
            np.concatenate([part.unread for part in parts]),
            np.concatenate([part.score for part in parts]),
            np.concatenate([part.log_prob for part in parts]),
            torch.cat([part.node for part in parts]),
        )
        return joined.take(np.lexsort((-joined.score, joined.query)))


def rank_within(query: Int) -> Int:
    """[C] how many rows of the same query come before each; `query` is ascending."""
    return np.arange(len(query)) - np.searchsorted(query, query)
