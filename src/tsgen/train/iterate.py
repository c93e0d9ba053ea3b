"""Iterative optimisation, Section 3.3 of the paper.

Iteration 1 learns the terms by weight, or in another order that is known before. In iteration T ≥ 2
the target of (Q, D) is the favourite permutation under Θ^{T−1}: the first beam of a search inside
T(D) with beam B' and temperature u.
Each iteration goes on from the last one's weights until validation M@10 stops rising. It is a stage
of its own: what is done is not done again, what was interrupted goes on from its last checkpoint.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import orjson

from tsgen.arrays import ARRAYS
from tsgen.artifact import hash_file, in_pieces, read_manifest, stage, stage_key
from tsgen.constrain.constraint import Int32, Ragged
from tsgen.corpus.dataset import DataSet, judged_inputs
from tsgen.decode.favourite import best_permutations
from tsgen.docids.term_set import TermSets
from tsgen.model.backbone import backbone_version
from tsgen.model.document_vectors import learned_generator, read_passages
from tsgen.model.generator import Generator
from tsgen.progress import show
from tsgen.queries.pairs import Pair
from tsgen.settings import FavouriteConfig, GeneratorConfig, ModelConfig, TrainConfig
from tsgen.train.examples import examples, random_order, reorder, weight_order
from tsgen.train.hard_negatives import find_hard_negatives
from tsgen.train.loop import TrainingSet, train
from tsgen.training_loop import remove_checkpoint, shown

MODEL = "model"
FIGURES = "figures.json"
PIECE = 1024  # pairs a file: what a killed run loses at the most
FAVOURITES, TERMS = "favourites", "terms"  # how these files begin, and the array in each
KIND = "iteration"


def train_generator(
    data: DataSet, terms: Path, config: GeneratorConfig, seed: int, cache: Path
) -> list[Path]:
    """The folders in `cache` of all iterations on the term sets in `terms`; makes those missing."""
    inputs = {"terms": read_manifest(terms).key, "documents": data.fingerprint}
    inputs |= judged_inputs(data, "train", "dev") | files_read(config.train)
    inputs |= backbone_version(config.model)
    folders: list[Path] = []
    for number in range(1, config.train.iterations + 1):
        numbered = iteration_config(config.train, number)
        iteration = _Iteration(data, terms, config.model, numbered, seed, folders[-1:], cache)
        folders.append(iteration.make(inputs))
        inputs["previous"] = read_manifest(folders[-1]).key
    return folders


def trained_generator(
    data: DataSet, sets: TermSets, iteration: Path, config: ModelConfig, cache: Path
) -> Generator:
    """The generator that an iteration ended with, for the term sets that it was trained on."""
    generator = Generator.load(iteration / MODEL, sets, config)
    if generator.backbone.document_vectors([]) is None:
        return generator
    vectors = read_passages(data, config, generator.backbone, cache)
    return Generator.of(generator.backbone, sets.with_vectors(vectors))


def iteration_config(config: TrainConfig, number: int) -> TrainConfig:
    """The settings of one iteration: its share of the minutes, and its number."""
    return config.part(config.iterations).model_copy(update={"iterations": number})


def stage_settings(model: ModelConfig, config: TrainConfig) -> GeneratorConfig:
    """What an iteration's cache key says of its settings: all but the paths of files, whose hashes
    are among its inputs."""
    pairs = config.pairs.model_copy(update={"queries": None})
    source = config.hard_negatives_from if config.run is None else "a run"
    changed = {"pairs": pairs, "hard_negatives_from": source}
    return GeneratorConfig(model=model, train=config.model_copy(update=changed))


def files_read(config: TrainConfig) -> dict[str, str]:
    """Hashes of the files that the settings name: queries, and the run of hard negatives."""
    queries, run = config.pairs.queries, config.run
    files = {"queries": queries and Path(queries), "hard negatives": run}
    return {name: hash_file(path) for name, path in files.items() if path}


def best_figure(iteration: Path) -> float:
    """The best validation M@10 of an iteration, from its folder."""
    figure: float = orjson.loads((iteration / FIGURES).read_bytes())["M@10"]
    return figure


@dataclass(frozen=True, slots=True)
class _Iteration:
    data: DataSet
    terms: Path
    model: ModelConfig
    config: TrainConfig
    seed: int
    previous: Sequence[Path]  # the last iteration's folder, if there is one
    cache: Path

    def make(self, inputs: Mapping[str, str]) -> Path:
        settings = stage_settings(self.model, self.config)
        key = stage_key(KIND, settings.model_dump(mode="json"), inputs, self.seed)
        folder = self.cache / f"iteration-{self.config.iterations}-{key[:12]}"
        stage(
            folder,
            self._work,
            kind=KIND,
            config=settings,
            inputs=inputs,
            seed=self.seed,
            keep_pieces=True,
        )
        return folder

    def _work(self, folder: Path) -> None:
        since = time.monotonic()
        sets, config = TermSets.load(self.terms), self.config
        generator = self._start(sets)
        limit = config.validation_queries
        pairs, validation = examples(self.data, sets, config.pairs, limit, self.seed)
        training = self._training(generator, pairs, folder)
        report = shown(f"training, iteration {config.iterations}")
        best = train(generator, training, validation, config, self.seed, folder, report, since)
        generator.backbone.save(folder / MODEL)
        (folder / FIGURES).write_bytes(orjson.dumps({"pairs": len(pairs), "M@10": best}))
        remove_checkpoint(folder)

    def _start(self, sets: TermSets) -> Generator:
        """The generator with the weights Θ^{T−1} of the previous iteration, or a new one."""
        for folder in self.previous:
            return trained_generator(self.data, sets, folder, self.model, self.cache)
        return learned_generator(self.data, self.model, sets, self.seed, self.cache)

    def _training(self, generator: Generator, pairs: Sequence[Pair], folder: Path) -> TrainingSet:
        count = self.config.permutations
        hard = find_hard_negatives(self.data, generator, pairs, self.config, self.seed)
        if self.previous or self.config.order == "likelihood":
            orders = favourite_orders(generator, pairs, self._search(generator), folder, count)
            return TrainingSet(_repeated(pairs, count), orders, hard=hard and hard.repeated(count))
        each_time = reorder(self.config.order, generator.sets)
        times = 1 if self.config.order == "weight" else count
        sets, documents = generator.sets, [pair.document for pair in pairs]
        if self.config.order == "random":
            orders = random_order(sets, documents, count, self.seed)
        else:
            orders = weight_order(sets, np.repeat(documents, times))
        learned = _repeated(pairs, times)
        return TrainingSet(learned, orders, each_time, hard and hard.repeated(times))

    def _search(self, generator: Generator) -> FavouriteConfig:
        """The search for favourites; of the learned terms only, where a token is a term."""
        search, first = self.config.favourite_search, self.config.first_tokens
        if not first or generator.backbone.spelling != "word":
            return search
        return search.model_copy(update={"first": first})


def favourite_orders(
    generator: Generator,
    pairs: Sequence[Pair],
    config: FavouriteConfig,
    folder: Path,
    count: int = 1,
) -> Ragged:
    """[count · P] T(D) of each pair in its `count` most likely orders, one row after the other.

    Where fewer orders are found, they are repeated from the first on.

    Args:
        generator: the model that finds the orders.
        pairs: P queries with their documents.
        config: how to search for the orders.
        folder: where finished pieces are kept for a run that goes on.
        count: orders for each pair.
    """
    documents = [pair.document for pair in _repeated(pairs, count)]
    by_weight = weight_order(generator.sets, documents)

    def work(piece: Sequence[Pair], first: int) -> dict[str, Int32]:
        show("favourite permutations", first, len(pairs))
        return {TERMS: _favourites(generator, piece, config, count)}

    found = [piece[TERMS] for piece in in_pieces(pairs, work, folder, PIECE, FAVOURITES, ARRAYS)]
    return Ragged(by_weight.offsets, np.concatenate([by_weight.values[:0], *found]))


def _favourites(
    generator: Generator, pairs: Sequence[Pair], config: FavouriteConfig, count: int
) -> Int32:
    numbered = [(pair.query, pair.document) for pair in pairs]
    best = best_permutations(generator.backbone, generator.constraint, numbered, count, config)
    rows = [order.terms for orders in best for order in islice(cycle(orders), count)]
    return np.array([term for row in rows for term in row], dtype=np.int32)


def _repeated(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Each pair `count` times, one beside the other."""
    return [pair for pair in pairs for _ in range(count)]
