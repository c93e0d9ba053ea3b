"""From a data set to an engine: terms → queries → training, iteration by iteration → one folder.

Term sets and iterations are stages in the cache, so that engines share what they have in common,
what is done is not done again, and what was interrupted goes on.
"""

import shutil
from pathlib import Path

from tsgen.artifact import stage
from tsgen.corpus.dataset import (
    DataSet,
    cache_folder_of,
    judged_inputs,
    watched_documents,
)
from tsgen.docids.stage import KEPT, keep_weights, select_terms, terms_folder
from tsgen.docids.term_set import TermSets
from tsgen.errors import ConfigError
from tsgen.retrieve.engine import KIND, EngineConfig, write_engine
from tsgen.terms.learned import KIND as LEARNED
from tsgen.terms.learned import LearnedConfig, trained_weigher
from tsgen.terms.words import Splitter
from tsgen.train.config import PairsConfig
from tsgen.train.generator import Generator, require_backbone
from tsgen.train.iterate import MODEL, GeneratorConfig, files_read, train_generator
from tsgen.training_loop import CURVE
from tsgen.write.stage import QUERIES, make_queries

CURVES, WEIGHER = "training", "weigher"


def fit_engine(
    data: DataSet, config: EngineConfig, out: Path, seed: int = 0, cache: Path | None = None
) -> None:
    """Make the engine `out` from a data set, unless it was made from the same inputs."""
    inputs = {"documents": data.fingerprint} | judged_inputs(data, "train", "dev")
    inputs |= files_read(config.train)

    def work(folder: Path) -> None:
        make_engine(data, config, seed, folder, cache_folder_of(data, cache))

    stage(out, work, kind=KIND, config=config, inputs=inputs, seed=seed)


def make_engine(data: DataSet, config: EngineConfig, seed: int, folder: Path, cache: Path) -> None:
    """Fill `folder`; all that takes long is kept in `cache`."""
    terms, iterations = trained_stages(data, config, seed, cache)
    sets = TermSets.load(terms)
    generator = Generator.load(iterations[-1] / MODEL, sets, config.model.query_tokens)
    write_engine(folder, generator, config, watched_documents(data))
    keep_weights(data, config.terms, terms, folder / KEPT, seed, cache)
    (folder / CURVES).mkdir(exist_ok=True)
    for number, iteration in enumerate(iterations, 1):
        shutil.copyfile(iteration / CURVE, folder / CURVES / f"iteration-{number}.jsonl")


def trained_stages(
    data: DataSet, config: EngineConfig, seed: int, cache: Path
) -> tuple[Path, list[Path]]:
    """The folders in `cache` of the term sets and of every iteration; makes those missing."""
    terms = terms_folder(data, config.terms, seed, cache)
    if not terms.exists():
        require_backbone(config.model)  # before the work on terms, which may take hours
    select_terms(data, config.terms, terms, seed, cache)
    pairs = _pairs(data, config, seed, cache)
    train = config.train.model_copy(update={"pairs": pairs})
    training = GeneratorConfig(model=config.model, train=train)
    return terms, train_generator(data, terms, training, seed, cache)


def training_stages(data: DataSet, config: EngineConfig, seed: int, cache: Path) -> dict[str, Path]:
    """The folders in `cache` of all that is trained for an engine, by name; makes those missing."""
    _, iterations = trained_stages(data, config, seed, cache)
    stages = {f"iteration {number}": folder for number, folder in enumerate(iterations, 1)}
    if config.terms.weights != LEARNED:
        return stages
    learned = LearnedConfig.from_mapping(config.terms.options)
    weigher = trained_weigher(data, Splitter(config.terms.words), learned, seed, cache)
    return {WEIGHER: weigher, **stages}


def _pairs(data: DataSet, config: EngineConfig, seed: int, cache: Path) -> PairsConfig:
    """What to train on, with the synthetic queries if there are to be any."""
    pairs = config.train.pairs
    if config.queries is None:
        return pairs
    if pairs.queries is not None:
        raise ConfigError(
            f"a file of queries ({pairs.queries}) and queries.writer = {config.queries.writer!r}; "
            "expected one of them. Leave out --queries, or add --set queries.writer=none."
        )
    made = make_queries(data, config.queries, seed, cache)
    return pairs.model_copy(update={"queries": str(made / QUERIES)})
