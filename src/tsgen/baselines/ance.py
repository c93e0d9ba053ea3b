"""ANCE (Xiong et al., 2021): DPR that goes on with negatives which it finds itself.

Round 0 is DPR's training on BM25's negatives (shared with `dpr` in the cache where their settings
are the same). In each later round all documents are read with the last weights, as far as training
reads them, each training query's negatives are drawn from the `depth` best documents that do not
answer it, and training goes on. The paper refreshes its index beside the training, every few
thousand steps; we do so between the rounds, so that the same seed gives the same weights.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tsgen.artifact import read_manifest
from tsgen.baselines._bi_encoder import BiEncoder, Mine, finish, trained
from tsgen.baselines._dense import (
    DenseEncoder,
    DenseRetriever,
    document_vectors,
    flat_index,
    query_vectors,
)
from tsgen.baselines.dpr import DPRConfig, trained_dpr
from tsgen.corpus.dataset import DataSet
from tsgen.queries.negatives import ContrastiveSet
from tsgen.retrieve.systems import SYSTEMS, System


class ANCEConfig(DPRConfig):
    """Those of DPR, and how often and how deep negatives are mined."""

    separate: bool = False
    rounds: int = Field(2, ge=1)  # after DPR's training
    depth: int = Field(200, ge=1)  # negatives are drawn from so many best documents
    round_share: float = Field(0.5, gt=0)  # of round 0's epochs or minutes, in each later one

    def warm_up_config(self) -> DPRConfig:
        """The settings of round 0; of the minutes, which are those of all rounds, it has its
        share."""
        values = {name: getattr(self, name) for name in DPRConfig.model_fields}
        if self.minutes is not None:
            values["minutes"] = self.minutes / (1 + self.rounds * self.round_share)
        return DPRConfig(**values)

    def round_config(self) -> DPRConfig:
        """The settings of a later round."""
        first = self.warm_up_config()
        minutes = None if first.minutes is None else first.minutes * self.round_share
        shorter = {"epochs": first.epochs * self.round_share, "minutes": minutes}
        return first.model_copy(update=shorter)


def mine(depth: int, seed: int) -> Mine:
    """Negatives drawn from the best wrong documents by the model's own search."""

    def mined(model: BiEncoder, texts: Sequence[str], training: ContrastiveSet) -> ContrastiveSet:
        assert isinstance(model, DenseEncoder)
        index = flat_index(document_vectors(model, texts, model.config.training_tokens))
        asked = query_vectors(model, [pair.query for pair in training.pairs])
        most = max(len(documents) for documents in training.answers.values())
        _, found = index.search(asked, min(depth + most, len(texts)))
        return ContrastiveSet(training.pairs, _drawn(found, training, depth, seed))

    return mined


def _drawn(
    found: NDArray[np.int64], training: ContrastiveSet, depth: int, seed: int
) -> NDArray[np.int64]:
    """[P, M] negatives from the first `depth` wrong ones of each row; where a corpus is too small
    to have as many, those of BM25 stay."""
    rng, drawn = np.random.default_rng(seed), training.negatives.copy()
    for row, pair in enumerate(training.pairs):
        right = list(training.answers[pair.query])
        wrong = found[row][~np.isin(found[row], right)][:depth]
        if len(wrong) >= drawn.shape[1]:
            drawn[row] = rng.choice(wrong, drawn.shape[1], replace=False)
    return drawn


def trained_rounds(data: DataSet, config: ANCEConfig, seed: int, cache: Path) -> list[Path]:
    """The folders in `cache` of the encoder after each round, DPR's first."""
    folders = [trained_dpr(data, config.warm_up_config(), seed, cache)]
    for number in range(1, config.rounds + 1):
        last, how = folders[-1], config.round_config()

        def start(last: Path = last, how: Any = how) -> DenseEncoder:
            model = DenseEncoder.load(last)
            model.config = how
            return model

        negatives = mine(config.depth, seed + number)
        inputs = {"start": read_manifest(last).key, "depth": str(config.depth)}
        folders.append(trained("ance", start, data, how, seed + number, cache, negatives, inputs))
    return folders


def _fit(data: DataSet, config: ANCEConfig, seed: int, folder: Path) -> None:
    rounds = trained_rounds(data, config, seed, folder.parent)
    finish(DenseRetriever, data, rounds, folder)


SYSTEMS.register(System("ance", ANCEConfig, _fit, DenseRetriever.load, trains=True))
