"""Pre-training a generator on texts alone, so that it can write the terms of any collection.

A pseudo-query is made from each document when training meets it (see
`tsgen.synthetic.pseudo_query`); its target is the document's term set. So the model learns about
words and not about documents: which words of a query identify the documents that it is about, and
which other words go with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import torch

from tsgen.artifact import stage
from tsgen.corpus.dataset import DataSet, cache_folder_of, judged_inputs, watched_documents
from tsgen.docids.assign import select_terms, terms_config, terms_folder
from tsgen.docids.term_set import TermSets
from tsgen.errors import DataError
from tsgen.model.backbone import backbone_version
from tsgen.model.generator import Generator
from tsgen.queries.pairs import Pair, judged_pairs
from tsgen.settings import ModelConfig, PretrainConfig, PseudoQueryConfig, TrainConfig
from tsgen.synthetic.pseudo_query import PseudoJudged, PseudoPairs
from tsgen.train.examples import Targets, Validation, random_order, reorder, sampled, weight_order
from tsgen.train.iterate import FIGURES, MODEL
from tsgen.train.loop import minimise
from tsgen.train.objective import Objective
from tsgen.training_loop import remove_checkpoint, shard, shown

KIND = "pretrained"
WEIGHER_QUERIES = (
    20_000  # pseudo-queries that train a weigher, where the terms are selected by a learned one
)
HELD_OUT_SEED = (
    1  # the seed of the pseudo-queries that validate, which differ from those in training
)


def pretrain_config(tables: Mapping[str, Mapping[str, Any]]) -> PretrainConfig:
    """The settings of the tables [terms], [pseudo], [model] and [train]."""
    return PretrainConfig(
        terms=terms_config(tables),
        pseudo=PseudoQueryConfig.from_mapping(tables.get("pseudo", {}), source="[pseudo]"),
        model=ModelConfig.from_mapping(tables.get("model", {}), source="[model]"),
        train=TrainConfig.from_mapping(tables.get("train", {}), source="[train]"),
    )


def pretrain_generator(
    data: DataSet, config: PretrainConfig, out: Path, seed: int = 0, cache: Path | None = None
) -> float:
    """Pre-train on the texts of a data set; returns the best M@10.

    M@10 is that of the dev queries, or of pseudo-queries where the data set has none. The backbone
    is written to `out`/model. An interrupted run goes on when it is called again.

    Args:
        data: the documents.
        config: how to pre-train.
        out: the folder to write.
        seed: of all that is drawn.
        cache: where term sets are kept; None: the usual folder for this data set.
    """
    splits = ("train", "dev") if config.pseudo.judged else ("dev",)
    inputs = {"documents": data.fingerprint} | judged_inputs(data, *splits)
    inputs |= backbone_version(config.model)
    work = _Pretraining(data, config, seed, cache_folder_of(data, cache)).run
    stage(out, work, kind=KIND, config=config, inputs=inputs, seed=seed, keep_pieces=True)
    best: float = orjson.loads((out / FIGURES).read_bytes())["M@10"]
    return best


@dataclass(frozen=True, slots=True)
class _Pretraining:
    data: DataSet
    config: PretrainConfig
    seed: int
    cache: Path

    def run(self, folder: Path) -> None:
        config, seed = self.config, self.seed
        sets = self._sets()
        generator = Generator.new(config.model, sets, seed)
        documents = list(watched_documents(self.data))
        judged = self._judged(sets)
        stream = PseudoPairs(documents, config.pseudo, seed, judged, config.pseudo.judged)
        validation = self._validation(sets, PseudoPairs(documents, config.pseudo, HELD_OUT_SEED))
        batches = _Stream(generator, stream, config.train, seed)
        steps = len(stream) * config.train.epochs // config.train.batch_size
        trained = generator, validation, config.train, seed, folder, shown("pre-training")
        best = minimise(batches.loss, steps, *trained)
        generator.backbone.save(folder / MODEL)
        (folder / FIGURES).write_bytes(orjson.dumps({"steps": steps, "M@10": best}))
        remove_checkpoint(folder)

    def _sets(self) -> TermSets:
        """The term sets of all documents, from the cache if they are there."""
        terms = self.config.terms
        texts = PseudoJudged(self.data, self.config.pseudo, WEIGHER_QUERIES, self.seed)
        folder = terms_folder(texts, terms, self.seed, self.cache)
        sets = select_terms(texts, terms, folder, self.seed, self.cache)
        if not np.diff(sets.doc_offsets).all():
            empty = sets.documents[int(np.argmin(np.diff(sets.doc_offsets)))]
            raise DataError(
                f"{self.data.name}: document {empty!r} has no terms; expected a text of some words "
                "for each. Leave such documents out."
            )
        return sets

    def _judged(self, sets: TermSets) -> list[Pair]:
        """The judged training queries, if the settings want some in training."""
        if not (self.config.pseudo.judged and "train" in self.data.splits):
            return []
        return judged_pairs(self.data, "train", sets.document_numbers())

    def _validation(self, sets: TermSets, pseudo: PseudoPairs) -> Validation:
        limit = self.config.train.validation_queries
        pairs: Sequence[Pair]
        if "dev" in self.data.splits:
            pairs = judged_pairs(self.data, "dev", sets.document_numbers())
        else:
            pairs = [pseudo.pair(number) for number in range(limit)]
        return sampled(pairs, limit, self.seed)


class _Stream:
    """The loss of each step on pairs that are made when they are met."""

    def __init__(
        self, generator: Generator, stream: PseudoPairs, config: TrainConfig, seed: int
    ) -> None:
        documents = np.arange(len(generator.sets))
        self._objective, self._stream = Objective(generator, config, documents), stream
        by_weight = config.order != "random"
        every = (
            weight_order(generator.sets, documents)
            if by_weight
            else random_order(generator.sets, documents, 1, seed)
        )
        order = reorder(config.order, generator.sets)
        self._targets = Targets(generator.constraint.spelling, every, order)
        self._size, self._seed = config.batch_size, seed

    def loss(self, step: int) -> torch.Tensor:
        """The loss of one step's batch, which depends on the seed and the step alone."""
        numbers = shard(np.arange(step * self._size, (step + 1) * self._size))
        pairs = [self._stream.pair(int(number)) for number in numbers]
        rng = np.random.default_rng((self._seed, 1, step))
        queries = [pair.query for pair in pairs]
        documents = np.array([pair.document for pair in pairs])
        targets = self._targets.batch(documents, queries, rng)
        return self._objective(queries, *targets, documents, rng)
