"""From documents to an engine: `index` without training, `fit` with it; and to a generator:
`pretrain`.

`index`: terms → a pre-trained generator that has these terms as its symbols → one folder.
`fit`: terms → queries → training, iteration by iteration → one folder.

Term sets, queries and iterations are stages in the cache, so that engines share what they have in
common, what is done is not done again, and what was interrupted goes on.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeAlias
from weakref import finalize

from tsgen.artifact import KEPT, seal, stage
from tsgen.config import merged
from tsgen.config import preset as preset_tables
from tsgen.corpus.dataset import (
    DataSet,
    DataSetWithout,
    cache_folder_of,
    judged_inputs,
    watched_documents,
)
from tsgen.corpus.in_memory import Documents, Grades, data_set_of
from tsgen.docids.assign import (
    keep_weights,
    select_terms,
    terms_config,
    terms_folder,
    with_all_options,
)
from tsgen.docids.term_set import TermSets
from tsgen.errors import ConfigError
from tsgen.model.backbone import architecture
from tsgen.model.document_vectors import learned_generator
from tsgen.model.generator import Generator, require_backbone
from tsgen.model.shipped import generator_hash, require_generator, saved_settings
from tsgen.progress import show
from tsgen.retrieve.engine import KIND, Engine, write_engine
from tsgen.retrieve.systems import check_tables, versions_in
from tsgen.settings import (
    MINI,
    TERM_VECTORS,
    DecodeConfig,
    EngineConfig,
    GeneratorConfig,
    IndexConfig,
    LearnedConfig,
    ModelConfig,
    PairsConfig,
    SearchConfig,
    TrainConfig,
)
from tsgen.synthetic.writing import QUERIES, make_queries, queries_config, wants_queries
from tsgen.terms.weigher_training import KIND as LEARNED
from tsgen.terms.weigher_training import trained_weigher
from tsgen.terms.weights import TERM_WEIGHTS
from tsgen.terms.words import Splitter
from tsgen.train.examples import examples
from tsgen.train.iterate import files_read, train_generator, trained_generator
from tsgen.train.loop import best_lexical_weight
from tsgen.train.pretraining import pretrain_config, pretrain_generator
from tsgen.training_loop import CURVE

AUTO = "auto"
"""The preset that goes with the generator."""

Tables: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Settings by section, such as {"terms": {"n": 12}, "decode": {"beam": 50}}."""


def index(
    documents: Documents,
    *,
    out: Path | str | None = None,
    model: Path | str | None = None,
    preset: str | None = AUTO,
    settings: Tables | None = None,
    cache: Path | str | None = None,
) -> Engine:
    """Make documents searchable without training queries: choose their terms, and let a generator
    learn them from the documents.

    Args:
        documents: A list of texts, of dicts or of Documents, a DataFrame, an iterator, a data set,
            or a path or name that `tsgen.load` takes, such as a folder of Markdown files.
        out: The folder of the engine, by default a temporary one that lives as long as the engine.
            An engine that is there, made from the same inputs, is opened as it is.
        model: The folder of a generator of one's own: what `tsgen.pretrain` wrote.
        preset: The settings to start from; None for the defaults; "auto" for `vectors`, or for
            `mini` with a generator of one's own.
        settings: Settings by section, over those of the preset: [terms], [model], [decode],
            [search].
        cache: The folder of intermediate results, by default TSGEN_CACHE or ~/.cache/tsgen.

    Examples:
        >>> engine = tsgen.index(["rye bread keeps a week", "tea with milk"])
        >>> engine.search("how long does bread keep?", k=1)
    """
    preset = index_preset(preset, own=model is not None)
    config = index_config(_tables(preset, settings))
    data = data_set_of(documents)
    temporary = Path(mkdtemp(prefix="tsgen-")) if out is None else None
    folder = Path(out) if out is not None else Path(temporary or "", "engine")
    work = Path(cache) if cache is not None else temporary
    try:
        index_documents(data, config, _path(model), folder, work)
        engine = Engine.load(folder)
    except BaseException:
        _remove(temporary)
        raise
    if temporary is not None:
        finalize(engine, _remove, temporary)
    return engine


def fit(
    documents: Documents,
    *,
    out: Path | str,
    queries: Mapping[str, str] | None = None,
    judgments: Grades | None = None,
    validation: Grades | None = None,
    preset: str | None = "vectors",
    settings: Tables | None = None,
    seed: int = 0,
    cache: Path | str | None = None,
) -> Engine:
    """Choose the documents' terms and train a generator for them, iteration by iteration.

    A call that was interrupted goes on from there when it is repeated.

    Args:
        documents: In any form that `tsgen.index` takes.
        out: The folder of the engine. An engine that is there, made from the same inputs, is
            opened as it is.
        queries: Query id → text, in place of the queries that come with the documents.
        judgments: Query id → {document id: grade} to train on, in place of those that come with
            the documents. The settings [queries] can have more queries written.
        validation: Query id → {document id: grade} to choose the best weights by.
        preset: The settings to start from; None for the defaults.
        settings: Settings by section, over those of the preset: [terms], [queries], [model],
            [train], [decode], [search].
        seed: Equal seeds give equal engines.
        cache: The folder of intermediate results, by default TSGEN_CACHE or ~/.cache/tsgen.

    Examples:
        >>> engine = tsgen.fit("stdlib:", out="runs/engine", settings={"train": {"epochs": 3}})
    """
    config = engine_config(_tables(preset, settings))
    data = data_set_of(documents, queries=queries, judgments=judgments, validation=validation)
    fit_engine(data, config, Path(out), seed, _path(cache))
    return Engine.load(out)


def pretrain(
    documents: Documents,
    *,
    out: Path | str,
    without: Sequence[Documents] = (),
    preset: str | None = "pretrain",
    settings: Tables | None = None,
    seed: int = 0,
    cache: Path | str | None = None,
) -> float:
    """Learn from texts alone to write the terms of any documents; returns the best M@10.

    The generator is in the folder `model` of `out`, for `tsgen.index(…, model=out)`. A call that
    was interrupted goes on from there when it is repeated.

    Args:
        documents: In any form that `tsgen.index` takes.
        out: The folder of the generator and its learning curve.
        without: Data sets whose documents are left out, such as those to test on.
        preset: The settings to start from; None for the defaults.
        settings: Settings by section, over those of the preset: [terms], [pseudo], [model],
            [train].
        seed: Equal seeds give equal generators.
        cache: The folder of intermediate results, by default TSGEN_CACHE or ~/.cache/tsgen.

    Examples:
        >>> tsgen.pretrain("data/pages", out="runs/mini", without=["data/my-test-set"])
    """
    config = pretrain_config(_tables(preset, settings, "pseudo"))
    data = data_set_of(documents)
    if without:
        data = DataSetWithout(data, [data_set_of(each) for each in without])
    return pretrain_generator(data, config, Path(out), seed, _path(cache))


def index_preset(preset: str | None, own: bool) -> str | None:
    """The preset of an index: for "auto" that of the generator, which may be one's own."""
    if preset != AUTO:
        return preset
    return "mini" if own else "vectors"


def _tables(preset: str | None, settings: Tables | None, *others: str) -> Tables:
    """The settings of a preset with others over them; a table that nothing reads is an error."""
    tables = merged({} if preset is None else preset_tables(preset), settings or {})
    check_tables(tables, *others)
    return tables


def _path(folder: Path | str | None) -> Path | None:
    return None if folder is None else Path(folder)


def _remove(folder: Path | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def engine_config(tables: Tables) -> EngineConfig:
    """The settings of `fit` from the tables of a settings file: [terms] (and that of its weights),
    [queries] (if it names a writer), [model], [train], [decode], [search]. Unless told otherwise,
    decoding normalises p as training did."""
    train = TrainConfig.from_mapping(tables.get("train", {}), source="[train]")
    decode = {"normalise": train.normalise} | dict(tables.get("decode", {}))
    return EngineConfig(
        terms=terms_config(tables),
        queries=queries_config(tables) if wants_queries(tables) else None,
        model=ModelConfig.from_mapping(tables.get("model", {}), source="[model]"),
        train=train,
        decode=DecodeConfig.from_mapping(decode, source="[decode]"),
        search=search_config(tables),
    )


def search_config(tables: Tables) -> SearchConfig:
    """The settings of the table [search] of a settings file."""
    return SearchConfig.from_mapping(tables.get("search", {}), source="[search]")


# Training: from a data set to an engine.

CURVES, WEIGHER = "training", "weigher"


def fit_engine(
    data: DataSet, config: EngineConfig, out: Path, seed: int = 0, cache: Path | None = None
) -> None:
    """Make the engine `out` from a data set, unless it was made from the same inputs."""
    inputs = {"documents": data.fingerprint} | judged_inputs(data, "train", "dev")
    inputs |= files_read(config.train) | versions_in(config)

    def work(folder: Path) -> None:
        make_engine(data, config, seed, folder, cache_folder_of(data, cache))

    stage(out, work, kind=KIND, config=config, inputs=inputs, seed=seed)


def make_engine(data: DataSet, config: EngineConfig, seed: int, folder: Path, cache: Path) -> None:
    """Fill a folder with a trained engine; all that takes long is kept in `cache`."""
    terms, iterations = trained_stages(data, config, seed, cache)
    sets = TermSets.load(terms)
    generator = trained_generator(data, sets, iterations[-1], config.model, cache)
    if config.train.choose_lexical_weight:
        config = _with_best_weight(data, config, generator, seed)
    write_engine(folder, generator, config, watched_documents(data))
    keep_weights(terms, folder / KEPT)
    (folder / CURVES).mkdir(exist_ok=True)
    for number, iteration in enumerate(iterations, 1):
        shutil.copyfile(iteration / CURVE, folder / CURVES / f"iteration-{number}.jsonl")
    seal(folder, KIND, config, {})  # a system may have the engine in a folder of its own


def _with_best_weight(
    data: DataSet, config: EngineConfig, generator: Generator, seed: int
) -> EngineConfig:
    """The settings with the lexical weight that is best on the validation queries."""
    train = config.train
    limit = train.validation_queries
    _, validation = examples(data, generator.sets, train.pairs, limit, seed)
    weight = best_lexical_weight(generator, validation, train)
    decode = config.decode.model_copy(update={"lexical_weight": weight})
    return config.model_copy(update={"decode": decode})


def trained_stages(
    data: DataSet, config: EngineConfig, seed: int, cache: Path
) -> tuple[Path, list[Path]]:
    """Make what is missing in `cache` of the term sets and of every iteration; returns their
    folders."""
    terms = terms_folder(data, config.terms, seed, cache)
    if not terms.exists():
        require_backbone(config.model)  # before the work on terms, which may take hours
    select_terms(data, config.terms, terms, seed, cache)
    pairs = _pairs(data, config, seed, cache)
    train = config.train.model_copy(update={"pairs": pairs})
    training = GeneratorConfig(model=config.model, train=train)
    return terms, train_generator(data, terms, training, seed, cache)


def training_stages(data: DataSet, config: EngineConfig, seed: int, cache: Path) -> dict[str, Path]:
    """Make what is missing in `cache` of all that is trained for an engine; returns the folders by
    name."""
    _, iterations = trained_stages(data, config, seed, cache)
    stages = {f"iteration {number}": folder for number, folder in enumerate(iterations, 1)}
    if config.terms.weights != LEARNED:
        return stages
    learned = LearnedConfig.from_mapping(config.terms.options)
    weigher = trained_weigher(data, Splitter(config.terms.words), learned, seed, cache)
    return {WEIGHER: weigher, **stages}


def _pairs(data: DataSet, config: EngineConfig, seed: int, cache: Path) -> PairsConfig:
    """The settings of the training pairs, with the file of synthetic queries if the settings ask
    for these."""
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


# Indexing: from documents to an engine, without training.


def index_config(tables: Tables) -> IndexConfig:
    """The settings of `index` from the tables of a settings file: [terms] (and that of its
    weights), [decode], [search]. Weights that learn from queries are refused."""
    terms = terms_config(tables)
    if TERM_WEIGHTS.get(terms.weights).trains:
        others = ", ".join(
            name for name in TERM_WEIGHTS.names() if not TERM_WEIGHTS.get(name).trains
        )
        raise ConfigError(
            f"terms.weights = {terms.weights!r}: these learn from queries, and an index is made "
            f"without training; expected one of: {others}. To train an engine, use `tsgen fit`."
        )
    model = ModelConfig.from_mapping(tables.get("model", {}), source="[model]")
    if not architecture(model.backbone).ready:
        raise ConfigError(
            f"model.backbone = {model.backbone!r}: it has to be trained before it writes terms; "
            f"expected {TERM_VECTORS} or {MINI}. To train an engine, use `tsgen fit`."
        )
    decode = DecodeConfig.from_mapping(tables.get("decode", {}), source="[decode]")
    # An index depends on the weights that come with the package: another release makes it anew.
    return IndexConfig(
        terms=with_all_options(terms), model=model, decode=decode, search=search_config(tables)
    )


def index_documents(
    data: DataSet, config: IndexConfig, model: Path | None, out: Path, cache: Path | None = None
) -> None:
    """Make the engine `out` of a data set's documents, unless it was made from the same inputs.

    Args:
        data: The documents; queries and judgments are not looked at.
        config: The settings.
        model: The folder of the generator; None for the one that the settings name.
        out: The engine's folder.
        cache: The folder of intermediate results.
    """
    inputs = {"documents": data.fingerprint} | versions_in(config)
    if model is not None or config.model.backbone == MINI:
        model = require_generator(model)
        inputs |= {"model": generator_hash(model)}
    else:
        require_backbone(config.model)

    def work(folder: Path) -> None:
        make_index(data, config, model, folder, cache_folder_of(data, cache))

    stage(out, work, kind=KIND, config=config, inputs=inputs)


def make_index(
    data: DataSet, config: IndexConfig, model: Path | None, folder: Path, cache: Path
) -> None:
    """Fill a folder with an engine whose generator is in the folder `model` or, if that is None,
    learns the documents; term sets and vectors are kept in `cache`."""
    terms = terms_folder(data, config.terms, 0, cache)
    sets = select_terms(data, config.terms, terms, cache=cache)
    show(f"giving the generator {len(sets.vocabulary):,} terms", 0)
    chosen = config.model if model is None else saved_settings(model)
    settings = EngineConfig(
        terms=config.terms, model=chosen, decode=config.decode, search=config.search
    )
    if model is None:
        generator = learned_generator(data, chosen, sets, 0, cache)
    else:
        generator = Generator.load_with_terms(model, sets, chosen)
    write_engine(folder, generator, settings, watched_documents(data))
    keep_weights(terms, folder / KEPT)
    seal(folder, KIND, settings, {})
