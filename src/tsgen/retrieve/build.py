"""From documents to an engine without training: terms → a pre-trained generator with these terms as
its symbols → one folder.

The term sets are a stage in the cache, shared with `fit_engine`. What is done is not done again,
and what was interrupted goes on.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from tsgen.artifact import hash_file, hash_strings, stage
from tsgen.corpus.dataset import DataSet, cache_folder_of, judged_inputs, watched_documents
from tsgen.docids.assign import (
    KEPT,
    keep_weights,
    select_terms,
    terms_config,
    terms_folder,
    with_all_options,
)
from tsgen.docids.term_set import TermSets
from tsgen.errors import ConfigError
from tsgen.model.generator import Generator, require_backbone
from tsgen.model.mini import CONFIG_FILE, ENCODER_FOLDER, WEIGHTS_FILE
from tsgen.model.shipped import tsgen_mini
from tsgen.progress import show
from tsgen.retrieve.engine import KIND, search_config, write_engine
from tsgen.settings import (
    MINI_FLAT,
    DecodeConfig,
    EngineConfig,
    GeneratorConfig,
    IndexConfig,
    LearnedConfig,
    MiniConfig,
    ModelConfig,
    PairsConfig,
)
from tsgen.synthetic.writing import QUERIES, make_queries
from tsgen.terms.weigher_training import KIND as LEARNED
from tsgen.terms.weigher_training import trained_weigher
from tsgen.terms.weights import TERM_WEIGHTS
from tsgen.terms.words import Splitter
from tsgen.train.iterate import MODEL, files_read, train_generator
from tsgen.training_loop import CURVE

# From a data set to an engine: terms → queries → training, iteration by iteration → one folder.
#
# Term sets and iterations are stages in the cache, so that engines share what they have in common,
# what is done is not done again, and what was interrupted goes on.

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


_EXPECTED = "expected what `tsgen pretrain` wrote, or an engine with model.spelling=word"


def index_config(tables: Mapping[str, Mapping[str, Any]]) -> IndexConfig:
    """From the tables of a settings file: [terms] (and that of its weights), [decode],
    [search]. Weights that learn from queries are refused."""
    terms = terms_config(tables)
    if TERM_WEIGHTS.get(terms.weights).trains:
        others = ", ".join(
            name for name in TERM_WEIGHTS.names() if not TERM_WEIGHTS.get(name).trains
        )
        raise ConfigError(
            f"terms.weights = {terms.weights!r}: these learn from queries, and an index is made "
            f"without training; expected one of: {others}. To train an engine, use `tsgen fit`."
        )
    decode = DecodeConfig.from_mapping(tables.get("decode", {}), source="[decode]")
    # An index depends on the weights that come with the package: another release makes it anew.
    return IndexConfig(terms=with_all_options(terms), decode=decode, search=search_config(tables))


def index_documents(
    data: DataSet, config: IndexConfig, model: Path | None, out: Path, cache: Path | None = None
) -> None:
    """Make the engine `out` of a data set's documents and the generator in the folder `model`,
    unless it was made from the same inputs; without `model`, tsgen-mini is it."""
    generator = require_generator(model)
    inputs = {"documents": data.fingerprint, "model": _hash(generator)}

    def work(folder: Path) -> None:
        make_index(data, config, generator, folder, cache_folder_of(data, cache))

    stage(out, work, kind=KIND, config=config, inputs=inputs)


def require_generator(folder: Path | None) -> Path:
    """The folder with the generator's files, this one or `model` in it, if the generator can take
    over any corpus's terms; without one, that of tsgen-mini."""
    if folder is None:
        return tsgen_mini()
    found = next((f for f in (folder, folder / MODEL) if (f / CONFIG_FILE).is_file()), None)
    if found is None:
        raise ConfigError(f"{folder}: no file {CONFIG_FILE} in it; {_EXPECTED}. Check the path.")
    spelling = _saved_config(found / CONFIG_FILE).spelling
    if spelling != "word":
        raise ConfigError(f"{found}: a generator that spells by {spelling}; {_EXPECTED}.")
    return found


def _saved_config(path: Path) -> MiniConfig:
    try:
        values = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{path}: not valid JSON ({error}); {_EXPECTED}.") from None
    return MiniConfig.from_mapping(values, source=f"{path}")


def make_index(data: DataSet, config: IndexConfig, model: Path, folder: Path, cache: Path) -> None:
    """Fill a folder with an engine whose generator is in the folder `model`; the term sets are kept
    in `cache`."""
    terms = terms_folder(data, config.terms, 0, cache)
    sets = select_terms(data, config.terms, terms, cache=cache)
    show(f"giving the generator {len(sets.vocabulary):,} terms", 0)
    generator = Generator.adapted(model, sets)
    settings = EngineConfig(
        terms=config.terms,
        model=ModelConfig(backbone=MINI_FLAT, **_saved_config(model / CONFIG_FILE).model_dump()),
        decode=config.decode,
        search=config.search,
    )
    write_engine(folder, generator, settings, watched_documents(data))
    keep_weights(data, config.terms, terms, folder / KEPT, 0, cache)


def _hash(model: Path) -> str:
    """Of the weights, and of the settings and the tokenizer that go with them."""
    encoder = sorted(path for path in (model / ENCODER_FOLDER).rglob("*") if path.is_file())
    try:
        return hash_strings(
            *(hash_file(path) for path in (model / WEIGHTS_FILE, model / CONFIG_FILE, *encoder))
        )
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}; {_EXPECTED}.") from None
