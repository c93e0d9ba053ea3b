"""s(Q, D) = Σ over matching terms of w^Q · w^D, for batches, differentiably.

Only words that some query of the batch contains can match, so only those are weighed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.terms.align import Aligned
from tsgen.terms.weigher import Weigher

CHUNK = 16  # windows of like length encoded together


@dataclass(frozen=True, slots=True)
class Text:
    """A text ready for scoring: its first window, and of each word its number and prior."""

    tokens: NDArray[np.int32]  # [S]
    first: NDArray[np.int32]  # [W]
    last: NDArray[np.int32]  # [W]
    words: NDArray[np.int64]  # [W] equal numbers: the same term
    prior: NDArray[np.float32]  # [W]


class Vocabulary:
    """Numbers for terms (stems, when stemming), given out as they come."""

    def __init__(self, weigher: Weigher) -> None:
        self._weigher = weigher
        self._numbers: dict[str, int] = {}

    def documents(self, texts: Sequence[str]) -> list[Text]:
        """Prepare documents, with the weigher's prior."""
        impact, splitter = self._weigher.impact, self._weigher.splitter
        heads = self._weigher.documents.heads(texts)
        if impact is None:
            return [self._text(head, None) for head in heads]
        priors = (impact.of(splitter, text) for text in texts)
        return [self._text(head, prior) for head, prior in zip(heads, priors, strict=True)]

    def queries(self, texts: Sequence[str]) -> list[Text]:
        """Prepare queries."""
        return [self._text(head, None) for head in self._weigher.queries.heads(texts)]

    def _text(self, head: Aligned, prior: dict[str, float] | None) -> Text:
        keys = [self._weigher.splitter.key(word) for word in head.words]
        numbers = [self._numbers.setdefault(key, len(self._numbers)) for key in keys]
        weights = np.ones(len(keys)) if prior is None else [prior[key] for key in keys]
        return Text(
            head.tokens,
            head.first,
            head.last,
            np.asarray(numbers, np.int64),
            np.asarray(weights, np.float32),
        )


def scores(weigher: Weigher, queries: Sequence[Text], documents: Sequence[Text]) -> torch.Tensor:
    """s(Q, D) [Q, D] for every query and document."""
    shared = np.unique(np.concatenate([query.words for query in queries]))  # [K]
    left = _weights(weigher, queries, shared)  # [Q, K]
    return left @ _weights(weigher, documents, shared).T


def _weights(weigher: Weigher, texts: Sequence[Text], shared: NDArray[np.int64]) -> torch.Tensor:
    """[T, K] the weight of each shared word in each text, 0 where it does not occur."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i].tokens))
    parts = [
        _weigh_chunk(weigher, [texts[i] for i in order[start : start + CHUNK]], shared)
        for start in range(0, len(order), CHUNK)
    ]
    return torch.cat(parts)[torch.from_numpy(np.argsort(order))]


def _weigh_chunk(
    weigher: Weigher, texts: Sequence[Text], shared: NDArray[np.int64]
) -> torch.Tensor:
    words = np.concatenate([text.words for text in texts])
    rows = np.repeat(np.arange(len(texts)), [len(text.words) for text in texts])
    columns = np.searchsorted(shared, words).clip(max=max(len(shared) - 1, 0))
    hit = np.flatnonzero(shared[columns] == words) if len(shared) else np.zeros(0, np.int64)
    first = np.concatenate([text.first for text in texts])[hit]
    last = np.concatenate([text.last for text in texts])[hit]
    hidden = weigher.encode([text.tokens for text in texts])
    weights = weigher.pool(hidden, rows[hit], first, last)
    prior = np.concatenate([text.prior for text in texts])[hit]
    at = torch.from_numpy(rows[hit] * len(shared) + columns[hit]).to(weights.device)
    table = weights.new_zeros(len(texts) * len(shared))
    table = table.scatter_reduce(0, at, weights * torch.from_numpy(prior).to(weights), "amax")
    return table.view(len(texts), len(shared))
