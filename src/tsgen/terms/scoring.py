"""s(Q, D) = Σ over matching terms of w^Q · w^D, for batches, differentiably."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.records import Document
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
    weigher: Weigher, found: Sequence[Document], aligner: Aligner | None = None
) -> list[Text]:
    """Prepare documents, with the weigher's prior; `aligner` may have another window."""
    heads = (aligner or weigher.documents).heads([document.contents for document in found])
    if weigher.impact is None:
        return [_text(head, weigher.splitter, None) for head in heads]
    priors = [weigher.impact.of(weigher.splitter, document) for document in found]
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


@dataclass(frozen=True, slots=True)
class Weighed:
    """The weight of every word occurrence of some texts, prior included."""

    size: int  # the number of texts
    rows: NDArray[np.int64]  # [W] the text of each occurrence
    words: NDArray[np.int64]  # [W]
    weights: torch.Tensor  # [W]
    states: torch.Tensor  # [W, d]

    def head(self, size: int) -> "Weighed":
        """Only the first so many texts."""
        inside = np.flatnonzero(self.rows < size)
        at = torch.from_numpy(inside).to(self.weights.device)
        rows, words = self.rows[inside], self.words[inside]
        return Weighed(size, rows, words, self.weights[at], self.states[at])


def weigh(weigher: Weigher, texts: Sequence[Text]) -> Weighed:
    """Weigh texts, those of like length together."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i].tokens))
    chunks = [order[start : start + CHUNK] for start in range(0, len(order), CHUNK)]
    states = torch.cat([_states(weigher, [texts[i] for i in chunk]) for chunk in chunks])
    prior = torch.from_numpy(np.concatenate([texts[i].prior for i in order])).to(states)
    rows = np.repeat(order, [len(texts[i].words) for i in order])
    words = np.concatenate([texts[i].words for i in order])
    return Weighed(len(texts), rows, words, weigher(states) * prior, states)


def _states(weigher: Weigher, texts: Sequence[Text]) -> torch.Tensor:
    rows = np.repeat(np.arange(len(texts)), [len(text.words) for text in texts])
    first = np.concatenate([text.first for text in texts])
    last = np.concatenate([text.last for text in texts])
    return weigher.pool(weigher.encode([text.tokens for text in texts]), rows, first, last)


def scores(asked: Weighed, found: Weighed) -> torch.Tensor:
    """s(Q, D) [Q, D] for every query and document."""
    shared = np.unique(asked.words)  # [K]
    return _table(asked, shared) @ _table(found, shared).T


def _table(weighed: Weighed, shared: NDArray[np.int64]) -> torch.Tensor:
    """[T, K] the largest weight of each shared word in each text, 0 where it does not occur."""
    hit = np.flatnonzero(np.isin(weighed.words, shared))
    at = weighed.rows[hit] * len(shared) + np.searchsorted(shared, weighed.words[hit])
    weights = weighed.weights[torch.from_numpy(hit).to(weighed.weights.device)]
    table = weights.new_zeros(weighed.size * len(shared))
    table = table.scatter_reduce(0, torch.from_numpy(at).to(weights.device), weights, "amax")
    return table.view(weighed.size, len(shared))
