"""Learned weights: from a data set to a trained weigher, as a stage of its own.

Training is the expensive part and depends neither on N nor on what the weights are used for, so the
trained weigher is kept in the cache and shared by every term selection and by the `weigher` system.
"""

from pathlib import Path

import torch
from pydantic import Field

from tsgen.artifact import stage, stage_key
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, judged_inputs
from tsgen.errors import ConfigError
from tsgen.queries.training_set import learned_from, training_sets
from tsgen.terms.impact import Impact
from tsgen.terms.mixed import Mixed
from tsgen.terms.selector import Selector
from tsgen.terms.tfidf import TfidfConfig, TfidfWeights
from tsgen.terms.train import WeigherTrainer, WeigherTraining
from tsgen.terms.weigher import Weigher, WeigherConfig
from tsgen.terms.weights import Weights, WeightsKind, Workspace, register
from tsgen.terms.words import Splitter, WordsConfig
from tsgen.training_loop import remove_checkpoint, shown

KIND = "learned"


class LearnedConfig(StageConfig):
    """A weigher's shape and its training."""

    weigher: WeigherConfig = WeigherConfig()
    training: WeigherTraining = WeigherTraining()

    share: float = Field(1.0, gt=0, le=1, exclude_if=lambda share: share == 1)
    """Of a selector in T(D); the rest is that of tf-idf (see `mixed`)."""


class _WeigherStage(StageConfig):
    weigher: WeigherConfig
    training: WeigherTraining
    words: WordsConfig


def trained_weigher(
    data: DataSet, splitter: Splitter, config: LearnedConfig, seed: int, cache: Path
) -> Path:
    """The folder in `cache` of a weigher trained on this data with these settings; trains it if
    it is not there."""
    settings = _WeigherStage(
        weigher=config.weigher, training=config.training, words=splitter.config
    )
    inputs = {"documents": data.fingerprint} | judged_inputs(data, "train", "dev")
    key = stage_key("weigher", settings.model_dump(mode="json"), inputs, seed)
    folder = cache / f"trained-weigher-{key[:12]}"

    def work(partial: Path) -> None:
        _train(data, splitter, config, seed, partial)

    stage(folder, work, kind="weigher", config=settings, inputs=inputs, seed=seed, keep_pieces=True)
    return folder


def _train(
    data: DataSet, splitter: Splitter, config: LearnedConfig, seed: int, folder: Path
) -> None:
    torch.manual_seed(seed)
    documents = list(data.documents())
    texts = [document.contents for document in documents]
    use_prior = config.weigher.prior == "bm25"
    impact = Impact.count(texts, splitter) if use_prior else None
    weigher = Weigher(config.weigher, splitter, impact)
    sizes = config.training
    training, validation = training_sets(
        data, documents, sizes.negatives, sizes.candidates, sizes.validation_queries, seed
    )
    report = shown(f"training the weigher on {learned_from(data)}")
    WeigherTrainer(
        weigher, documents, training, validation, config.training, seed, folder, report
    ).run()
    weigher.save(folder)
    remove_checkpoint(folder)


class Selected(Mixed):
    """The terms that a trained weigher selects, with a share of tf-idf."""

    def __init__(self, weigher: Weigher, impact: Impact, share: float) -> None:
        rare = TfidfWeights(weigher.splitter, impact, TfidfConfig())
        super().__init__(Selector(weigher), rare, share)
        self._weigher = weigher

    def save(self, folder: Path) -> None:
        """Write the weigher, which has the counts of its corpus."""
        self._weigher.save(folder)


def _build(
    data: DataSet, splitter: Splitter, config: LearnedConfig, workspace: Workspace
) -> Weights:
    trained = trained_weigher(data, splitter, config, workspace.seed, workspace.cache)
    return _load(trained, splitter, config)


def _load(folder: Path, _splitter: Splitter, config: LearnedConfig) -> Weights:
    """A weigher brings its own splitter and settings."""
    weigher = Weigher.load(folder)
    if config.share == 1:
        return weigher if weigher.selector is None else Selector(weigher)
    if weigher.selector is None or weigher.impact is None:
        raise ConfigError(
            f"share = {config.share} of a selector and tf-idf, but the weigher has "
            f"{'no selector' if weigher.selector is None else 'no counts of its corpus'}; expected "
            "both. Train it with weigher.selector=true and weigher.prior=bm25."
        )
    return Selected(weigher, weigher.impact, config.share)


register(WeightsKind(KIND, LearnedConfig, _build, _load, trains=True, table="weigher"))
