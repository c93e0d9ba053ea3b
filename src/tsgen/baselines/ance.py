"""ANCE (Xiong et al., 2021): DPR trained further on hard negatives that its own search finds.

Round 0 is DPR's training on BM25's negatives (shared with `dpr` in the cache where their settings
are the same). Each later round encodes all documents with the last weights, cut off as in training,
draws the negatives of each training query from the `depth` best documents that are not relevant to
it, and trains on. The loss is that of `_bi_encoder`.

Deviations: the paper refreshes its index while it trains, every few thousand steps; here the index
is refreshed between the rounds, so that the same seed gives the same weights.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tsgen.artifact import read_manifest
from tsgen.baselines._bi_encoder import (
    BiEncoder,
    NegativeMiner,
    encode_corpus,
    train_bi_encoder,
)
from tsgen.baselines._dense_encoder import (
    DenseEncoder,
    DenseRetriever,
    encode_documents,
    encode_queries,
    flat_index,
)
from tsgen.baselines.dpr import DPRConfig
from tsgen.corpus.dataset import DataSet
from tsgen.queries.negatives import ContrastiveSet
from tsgen.retrieve.systems import SYSTEMS, System


class ANCEConfig(DPRConfig):
    """The settings of DPR, and how often and how deep negatives are mined."""

    separate: bool = False
    """Whether queries have an encoder of their own."""

    rounds: int = Field(2, ge=1)
    """Rounds of training on mined negatives, after DPR's training."""

    depth: int = Field(200, ge=1)
    """Negatives are drawn from so many best documents."""

    round_share: float = Field(0.5, gt=0)
    """Epochs or minutes of each later round, as a share of those of round 0."""

    def warm_up_config(self) -> DPRConfig:
        """The settings of round 0, with its share of the minutes, which are those of all rounds."""
        values = {name: getattr(self, name) for name in DPRConfig.model_fields}
        if self.minutes is not None:
            values["minutes"] = self.minutes / (1 + self.rounds * self.round_share)
        return DPRConfig(**values)

    def round_config(self) -> DPRConfig:
        """The settings of each later round: fewer epochs or minutes."""
        first = self.warm_up_config()
        minutes = None if first.minutes is None else first.minutes * self.round_share
        shorter = {"epochs": first.epochs * self.round_share, "minutes": minutes}
        return first.model_copy(update=shorter)


def mine(depth: int, seed: int) -> NegativeMiner:
    """A miner that draws negatives from the `depth` best wrong documents of the model's search."""

    def mined(model: BiEncoder, texts: Sequence[str], training: ContrastiveSet) -> ContrastiveSet:
        assert isinstance(model, DenseEncoder)
        index = flat_index(encode_documents(model, texts, model.config.training_tokens))
        queries = encode_queries(model, [pair.query for pair in training.pairs])
        most = max(len(documents) for documents in training.answers.values())
        _, found = index.search(queries, min(depth + most, len(texts)))
        return ContrastiveSet(training.pairs, _drawn(found, training, depth, seed))

    return mined


def _drawn(
    found: NDArray[np.int64], training: ContrastiveSet, depth: int, seed: int
) -> NDArray[np.int64]:
    """The negatives [P, M] from the first `depth` wrong documents of each row of `found` [P, K];
    where a corpus is too small to have M of them, BM25's negatives stay."""
    rng, drawn = np.random.default_rng(seed), training.negatives.copy()
    for row, pair in enumerate(training.pairs):
        relevant = list(training.answers[pair.query])
        wrong = found[row][~np.isin(found[row], relevant)][:depth]
        if len(wrong) >= drawn.shape[1]:
            drawn[row] = rng.choice(wrong, drawn.shape[1], replace=False)
    return drawn


def train_rounds(data: DataSet, config: ANCEConfig, seed: int, cache: Path) -> list[Path]:
    """Train all rounds that the cache lacks; the folders of the encoder after each, DPR's first."""
    first = config.warm_up_config()
    pretrained = partial(DenseEncoder.pretrained, first)
    folders = [train_bi_encoder("dpr", pretrained, data, first, seed, cache)]
    for number in range(1, config.rounds + 1):
        last, shorter = folders[-1], config.round_config()

        def start(last: Path = last, settings: Any = shorter) -> DenseEncoder:
            model = DenseEncoder.load(last)
            model.config = settings
            return model

        negatives = mine(config.depth, seed + number)
        inputs = {"start": read_manifest(last).key, "depth": str(config.depth)}
        parts = data, shorter, seed + number, cache, negatives, inputs
        folders.append(train_bi_encoder("ance", start, *parts))
    return folders


def _fit(data: DataSet, config: ANCEConfig, seed: int, folder: Path) -> None:
    rounds = train_rounds(data, config, seed, folder.parent)
    encode_corpus(DenseRetriever, data, rounds, folder)


SYSTEMS.register(System("ance", ANCEConfig, _fit, DenseRetriever.load, trains=True))
