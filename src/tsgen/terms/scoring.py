"""s(Q, D) = Σ over matching terms of w^Q · w^D, for batches, differentiably.

Only words that some query of the batch contains can match, so only those are weighed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.terms.align import Aligned, Aligner
from tsgen.terms.weigher import Weigher
from tsgen.terms.words import Splitter

CHUNK = 16  # windows of like length encoded together


@dataclass(frozen=True, slots=True)
class Text:
    """A text ready for scoring: its first window, and of each word its number and prior."""

    tokens: NDArray[np.int32]  # [S]
    first: NDArray[np.int32]  # [W]
    last: NDArray[np.int32]  # [W]
    words: NDArray[np.int64]  # [W] equal numbers: the same term
    prior: NDArray[np.float32]  # [W]


def documents(
    weigher: Weigher, texts: Sequence[str], aligner: Aligner | None = None
) -> list[Text]:
    """Prepare documents, with the weigher's prior; `aligner` may have another window."""
    heads = (aligner or weigher.documents).heads(texts)
    if weigher.impact is None:
        return [_text(head, weigher.splitter, None) for head in heads]
    priors = [weigher.impact.of(weigher.splitter, text) for text in texts]
    return [_text(head, weigher.splitter, p) for head, p in zip(heads, priors, strict=True)]


def queries(weigher: Weigher, texts: Sequence[str]) -> list[Text]:
    """Prepare queries."""
    return [_text(head, weigher.splitter, None) for head in weigher.queries.heads(texts)]


def _text(head: Aligned, splitter: Splitter, prior: dict[str, float] | None) -> Text:
    keys = [splitter.key(word) for word in head.words]
    weights = np.ones(len(keys)) if prior is None else [prior[key] for key in keys]
    numbers = np.asarray([_number(key) for key in keys], np.int64)
    return Text(head.tokens, head.first, head.last, numbers, np.asarray(weights, np.float32))


@lru_cache(maxsize=2**20)
def _number(key: str) -> int:
    """A 63-bit number for a term, the same in every process."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) >> 1


def scores(weigher: Weigher, asked: Sequence[Text], found: Sequence[Text]) -> torch.Tensor:
    """s(Q, D) [Q, D] for every query and document."""
    shared = np.unique(np.concatenate([query.words for query in asked]))  # [K]
    left = _weights(weigher, asked, shared)  # [Q, K]
    return left @ _weights(weigher, found, shared).T


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
