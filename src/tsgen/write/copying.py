"""The local writer's model: a backbone that reads a document and writes a query.

    p(t | t_<i; D) ∝ exp(s(t | t_<i; D) + c · [t ∈ D]),   t ∈ D ∪ F

where s are the backbone's scores, c is learned, and F are the most frequent tokens of the training
queries. So a query is made of the document's words and of those that queries are made of anyway:
a small model that may write any word soon writes about something else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tsgen.errors import ConfigError

IGNORED = -100  # a target that is padding, or that the model cannot write
BONUS = 2.0  # c, before training

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Choices:
    """What may be written for a batch of documents."""

    symbols: Tensor  # [S] tokens: of any of the documents, or frequent
    copied: Tensor  # [D, S] which are in each document
    allowed: Tensor  # [D, S] which are in each document or frequent


class CopyingWriter(nn.Module):
    """A backbone with a bonus for tokens of the document."""

    def __init__(self, backbone: Any, frequent: Ints, document_tokens: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.bonus = nn.Parameter(torch.tensor(BONUS))
        self.document_tokens = document_tokens
        self._frequent = frequent
        self.end = _end_token(backbone.tokenizer)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.bonus.device

    def choices(self, documents: Sequence[str]) -> Choices:
        """The tokens of the documents, and the frequent ones with the end of a query."""
        rows = tokens_of(self.backbone.tokenizer, documents, self.document_tokens)
        frequent = np.union1d(self._frequent, [self.end])
        symbols = np.unique(np.concatenate([frequent, *rows]))
        copied = np.stack([np.isin(symbols, row) for row in rows])  # [D, S]
        allowed = copied | np.isin(symbols, frequent)
        parts = (torch.from_numpy(part).to(self.device) for part in (symbols, copied, allowed))
        return Choices(*parts)

    def loss(self, documents: Sequence[str], queries: Sequence[Sequence[int]]) -> Tensor:
        """−log p of the queries' tokens, of those that can be written, on average."""
        choices = self.choices(documents)
        targets, columns = self._targets(queries, choices)
        scores = self.backbone(documents, targets, choices.symbols)  # [D, T, S]
        scores = self._weigh(scores, choices.copied[:, None], choices.allowed[:, None])
        return functional.cross_entropy(
            scores.flatten(0, 1), columns.flatten(), ignore_index=IGNORED
        )

    def scores(self, hidden: Tensor, choices: Choices, owners: Tensor) -> Tensor:
        """[R, S] of the next token, for hidden states [R, d] of queries for documents [R]."""
        scores = self.backbone.logits(hidden, choices.symbols)
        return self._weigh(scores, choices.copied[owners], choices.allowed[owners])

    def _weigh(self, scores: Tensor, copied: Tensor, allowed: Tensor) -> Tensor:
        return (scores + self.bonus * copied).masked_fill(~allowed, -torch.inf)

    def _targets(self, queries: Sequence[Sequence[int]], choices: Choices) -> tuple[Tensor, Tensor]:
        """The queries' tokens [D, T], and their places among the symbols, or `IGNORED`."""
        length = max(len(query) for query in queries) + 1
        targets = np.full((len(queries), length), self.end, np.int64)
        real = np.zeros(targets.shape, bool)
        for row, query in enumerate(queries):
            targets[row, : len(query)] = query
            real[row, : len(query) + 1] = True  # its end is a target, too
        symbols, allowed = choices.symbols.cpu().numpy(), choices.allowed.cpu().numpy()
        places = np.searchsorted(symbols, targets).clip(max=len(symbols) - 1)
        known = np.take_along_axis(allowed, places, axis=1) & (symbols[places] == targets)
        columns = np.where(real & known, places, IGNORED)
        return torch.from_numpy(targets).to(self.device), torch.from_numpy(columns).to(self.device)


def tokens_of(tokenizer: Any, texts: Sequence[str], limit: int) -> list[Ints]:
    """The first tokens of each text, without special ones."""
    found = tokenizer(list(texts), add_special_tokens=False, truncation=True, max_length=limit)
    return [np.array(row, np.int64) for row in found["input_ids"]]


def frequent_tokens(queries: Sequence[Ints], count: int) -> Ints:
    """The most frequent tokens, the smaller of equals first."""
    if not queries:
        return np.zeros(0, np.int64)
    tokens, times = np.unique(np.concatenate(queries), return_counts=True)
    return np.sort(tokens[np.argsort(-times, kind="stable")[:count]])


def _end_token(tokenizer: Any) -> int:
    """The token that ends a query: that of a T5, of a BERT, or any that no text contains."""
    names = ("eos_token_id", "sep_token_id", "cls_token_id", "pad_token_id")
    found = (getattr(tokenizer, name) for name in names)
    end = next((token for token in found if token is not None), None)
    if end is None:
        raise ConfigError(
            "the writer's tokenizer has no special token to end a query with; expected an eos, "
            "sep, cls or pad token. Choose another backbone: --set queries.local.backbone=mini."
        )
    return int(end)
