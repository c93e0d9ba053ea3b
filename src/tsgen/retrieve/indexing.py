"""From documents to an engine without training: terms → a pre-trained generator with these terms as
its symbols → one folder.

The term sets are a stage in the cache, shared with `fit_engine`. What is done is not done again,
and what was interrupted goes on.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from tsgen.artifact import hash_file, hash_strings, stage
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, cache_folder_of, watched_documents
from tsgen.decode.config import DecodeConfig
from tsgen.docids.stage import (
    KEPT,
    TermsConfig,
    keep_weights,
    select_terms,
    terms_config,
    terms_folder,
    with_all_options,
)
from tsgen.errors import ConfigError
from tsgen.model.mini import CONFIG_FILE, ENCODER_FOLDER, WEIGHTS_FILE, MiniConfig
from tsgen.model.shipped import tsgen_mini
from tsgen.progress import show
from tsgen.retrieve.engine import KIND, EngineConfig, SearchConfig, search_config, write_engine
from tsgen.terms.weights import weights_kind, weights_names
from tsgen.train.config import MINI_FLAT, ModelConfig
from tsgen.train.generator import Generator
from tsgen.train.iterate import MODEL

_EXPECTED = "expected what `tsgen pretrain` wrote, or an engine with model.spelling=word"


class IndexConfig(StageConfig):
    """The settings of an engine that is not trained."""

    terms: TermsConfig
    decode: DecodeConfig
    search: SearchConfig = SearchConfig()


def index_config(tables: Mapping[str, Mapping[str, Any]]) -> IndexConfig:
    """From the tables of a settings file: [terms] (and that of its weights), [decode],
    [search]. Weights that learn from queries are refused."""
    terms = terms_config(tables)
    if weights_kind(terms.weights).trains:
        others = ", ".join(name for name in weights_names() if not weights_kind(name).trains)
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
