"""Learned weights: from a data set to a trained weigher, as a stage of its own.

Training is the expensive part and depends neither on N nor on what the weights are used for, so the
trained weigher is kept in the cache and shared by every term selection and by the `weigher` system.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from tsgen.artifact import stage, stage_key
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, judged_inputs
from tsgen.errors import DataError
from tsgen.queries.lexical import LexicalIndex
from tsgen.queries.negatives import hard_negatives
from tsgen.queries.pairs import Pair, judged_pairs, pseudo_pairs
from tsgen.records import Document
from tsgen.terms.impact import Impact
from tsgen.terms.selector import Selector
from tsgen.terms.train import TrainingSet, WeigherTrainer, WeigherTraining
from tsgen.terms.weigher import Weigher, WeigherConfig
from tsgen.terms.weights import Weights, WeightsKind, Workspace, register
from tsgen.terms.words import Splitter, WordsConfig
from tsgen.training_loop import Report, remove_checkpoint, shown

KIND = "learned"
PSEUDO = "title → text and sentence → rest pairs (the data has no training queries)"
HELD_OUT = 0.05  # share of the training pairs that validate where there is no dev split


class LearnedConfig(StageConfig):
    """A weigher's shape and its training."""

    weigher: WeigherConfig = WeigherConfig()
    training: WeigherTraining = WeigherTraining()


class _WeigherStage(LearnedConfig):
    words: WordsConfig


def trained_weigher(
    data: DataSet, splitter: Splitter, config: LearnedConfig, seed: int, cache: Path
) -> Path:
    """The folder in `cache` of a weigher trained on this data with these settings; trains it if
    it is not there."""
    settings = _WeigherStage(**dict(config), words=splitter.config)
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
    training, validation = _training_sets(data, documents, config.training, seed)
    report = _reporter(data)
    WeigherTrainer(
        weigher, documents, training, validation, config.training, seed, folder, report
    ).run()
    weigher.save(folder)
    remove_checkpoint(folder)


def _reporter(data: DataSet) -> Report:
    judged = "train" in data.splits
    return shown(f"training the weigher on {'judged pairs' if judged else PSEUDO}")


def _training_sets(
    data: DataSet, documents: Sequence[Document], config: WeigherTraining, seed: int
) -> tuple[TrainingSet, TrainingSet]:
    """Training and validation pairs with their hard negatives."""
    pairs, held_out = _pairs(data, documents, seed)
    if not pairs:
        raise DataError(
            f"{data.name}: nothing to learn from: no training judgments, and no document has a "
            "title or a second sentence. Use --weights tfidf, which needs no training."
        )
    held_out = held_out[: config.validation_queries]
    index = LexicalIndex.build(document.contents for document in documents)
    return (
        _with_negatives(index, pairs, config.negatives, seed),
        _with_negatives(index, held_out, config.candidates, seed),
    )


def _pairs(
    data: DataSet, documents: Sequence[Document], seed: int
) -> tuple[list[Pair], list[Pair]]:
    """Training pairs and, in random order, validation pairs."""
    if "train" in data.splits:
        positions = {document.id: i for i, document in enumerate(documents)}
        pairs = judged_pairs(data, "train", positions)
        held_out = judged_pairs(data, "dev", positions) if "dev" in data.splits else []
    else:
        pairs, held_out = pseudo_pairs(documents, seed), []
    rng = np.random.default_rng(seed)
    if not held_out:
        order = rng.permutation(len(pairs))
        cut = max(int(len(pairs) * HELD_OUT), min(1, len(pairs)))
        held_out = [pairs[i] for i in order[:cut]]
        return [pairs[i] for i in sorted(order[cut:])] or held_out, held_out
    return pairs, [held_out[i] for i in rng.permutation(len(held_out))]


def _with_negatives(
    index: LexicalIndex, pairs: Sequence[Pair], count: int, seed: int
) -> TrainingSet:
    answers = TrainingSet(pairs, np.zeros((0, 0), np.int64)).answers()
    relevant = [answers[pair.query] for pair in pairs]
    found = hard_negatives(index, [pair.query for pair in pairs], relevant, count, seed)
    return TrainingSet(pairs, found)


def _build(
    data: DataSet, splitter: Splitter, config: LearnedConfig, workspace: Workspace
) -> Weights:
    return _load(trained_weigher(data, splitter, config, workspace.seed, workspace.cache))


def _load(folder: Path, *_: object) -> Weights:
    """A weigher brings its own splitter and settings."""
    weigher = Weigher.load(folder)
    return weigher if weigher.selector is None else Selector(weigher)


register(WeightsKind(KIND, LearnedConfig, _build, _load, trains=True, table="weigher"))
