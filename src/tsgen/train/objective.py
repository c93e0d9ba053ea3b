"""What training makes small: the loss of some queries and the tokens that answer them."""

from collections.abc import Sequence

import numpy as np
import torch

from tsgen.constrain.constraint import Bool, Int
from tsgen.errors import ConfigError
from tsgen.train.config import TrainConfig
from tsgen.train.generator import Generator
from tsgen.train.loss import LOSSES
from tsgen.train.targets import weight_order


class Objective:
    """The loss of a batch, over the tokens that p is normalised over."""

    def __init__(self, generator: Generator, config: TrainConfig) -> None:
        spelling = generator.constraint.spelling
        if config.loss == "any_remaining" and len(spelling.tokens) > len(spelling):
            raise ConfigError(
                "train.loss = 'any_remaining' needs one token a term, but terms are spelled by "
                "subwords; set model.spelling=word or train.loss=seq2seq."
            )
        if config.other_documents and config.softmax != "docid":
            raise ConfigError(
                f"train.other_documents = {config.other_documents} with train.softmax = 'full', "
                "which is over all outputs; set train.softmax=docid or train.other_documents=0."
            )
        self._backbone, self._loss = generator.backbone, LOSSES[config.loss]
        self._sets, self._spelling = generator.sets, spelling
        self._others = min(config.other_documents, len(generator.sets))
        self._first = config.first_tokens or None
        self._columns = np.arange(generator.backbone.output_size)  # token → column of the scores
        self._symbols: Int | None = None
        if config.softmax == "docid" and not self._others:
            self._symbols = self._numbered(generator.constraint.alphabet.astype(np.int64))

    def __call__(
        self, queries: Sequence[str], tokens: Int, mask: Bool, rng: np.random.Generator
    ) -> torch.Tensor:
        """The loss of queries and their targets: `tokens` [B, T], which are no padding where
        `mask` [B, T]."""
        symbols = self._numbered(self._drawn(tokens, rng)) if self._others else self._symbols
        device = next(self._backbone.parameters()).device
        first = torch.from_numpy(tokens[:, : self._first]).to(device)
        over = None if symbols is None else torch.from_numpy(symbols).to(device)
        scores = self._backbone(queries, first, over)  # [B, K, symbols]
        columns = torch.from_numpy(self._columns[tokens])
        return self._loss(scores, columns.to(device), torch.from_numpy(mask).to(device))

    def _drawn(self, tokens: Int, rng: np.random.Generator) -> Int:
        """The tokens of the batch and of some other documents."""
        documents = rng.integers(len(self._sets), size=self._others)
        others = self._spelling.sequence(np.unique(weight_order(self._sets, documents).values))
        return np.unique(np.concatenate((tokens.ravel(), others)))

    def _numbered(self, symbols: Int) -> Int:
        """These tokens, after numbering them as columns."""
        self._columns[symbols] = np.arange(len(symbols))
        return symbols
