"""Which words a query will ask a document for: a second MLP on the weigher's word states.

    p(t | D) = exp(max over t's occurrences of MLP(e_i)) / Σ over D's distinct words of the same

The paper selects T(D) by the weights of s(Q, D). Their loss compares documents on a query's words
and says nothing about the words no query has, yet these too compete for a place in T(D). Here a
query's words are compared with all others of its document, L = −mean log p(t | D+) over the t in
both; it is added to the contrastive loss.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from tsgen.records import Document

if TYPE_CHECKING:
    from tsgen.terms.scoring import Weighed
    from tsgen.terms.weigher import Weigher


class Selector:
    """The weights by which T(D) is selected, where a weigher has learned p(t | D)."""

    def __init__(self, weigher: "Weigher") -> None:
        self._weigher = weigher

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document, in order, its distinct words with p(t | D)."""
        for asked in self._weigher.asked(documents):
            yield _softmax(asked)

    def save(self, folder: Path) -> None:
        """Write the weigher."""
        self._weigher.save(folder)


def _softmax(logits: dict[str, float]) -> dict[str, float]:
    values = np.exp(np.array([*logits.values()]) - max(logits.values(), default=0.0))
    return dict(zip(logits, (values / values.sum()).tolist(), strict=True))


def selection_loss(logits: torch.Tensor, asked: "Weighed", found: "Weighed") -> torch.Tensor:
    """−mean log p(t | D) over the words t that query i shares with document i; `logits` [W] are
    those of the word occurrences of `found`."""
    pooled, rows, matched = _pool(logits, asked, found)
    highest = logits.new_full((found.size,), -torch.inf).scatter_reduce(0, rows, pooled, "amax")
    shifted = pooled - highest.detach()[rows]
    total = logits.new_zeros(found.size).index_add(0, rows, shifted.exp())
    log_p = shifted - total.log()[rows]
    return -(log_p * matched).sum() / matched.sum().clamp(min=1)


def selected_share(logits: torch.Tensor, asked: "Weighed", found: "Weighed", n: int) -> float:
    """The share of the words common to one query and one document that are among its `n` best."""
    pooled, _, matched = _pool(logits, asked, found)
    best = pooled.topk(min(n, len(pooled))).indices
    return float(matched[best].sum() / matched.sum().clamp(min=1))


def _pool(
    logits: torch.Tensor, asked: "Weighed", found: "Weighed"
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """For each distinct word of each document its largest logit, its row, and whether the query of
    that row has it."""
    pairs = np.stack([found.rows, found.words], axis=1)
    distinct, of = np.unique(pairs, axis=0, return_inverse=True)
    device = logits.device
    pooled = logits.new_full((len(distinct),), -torch.inf).scatter_reduce(
        0, torch.from_numpy(of).to(device), logits, "amax"
    )
    wanted = set(zip(asked.rows.tolist(), asked.words.tolist(), strict=True))
    matched = torch.tensor([tuple(pair) in wanted for pair in distinct.tolist()], device=device)
    return pooled, torch.from_numpy(distinct[:, 0]).to(device), matched
