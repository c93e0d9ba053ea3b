"""TSGen as a system to compare with others, trained with queries (`tsgen`) and without any.

`tsgen` is what `tsgen fit` makes: term sets, a generator trained on the data set, and
permutation-invariant decoding. `tsgen-index` is what `tsgen index` makes: the same with a generator
that learns the documents alone, and `tsgen-fit` goes on from there with the training queries, as
`tsgen fit` does with its default preset. Two controls show what the parts of its score are worth:
`tsgen-generator` does without the query's own words, `tsgen-words` ranks by nothing else.
`tsgen-mini` has the generator that was pre-trained on other documents.
"""

import shutil
from pathlib import Path
from typing import Any

from pydantic import Field

from tsgen.artifact import LOGS
from tsgen.config import StageConfig, preset
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.model.shipped import tsgen_mini, weights_hash
from tsgen.retrieve.build import engine_config, index_config, make_engine, make_index
from tsgen.retrieve.engine import KIND, Engine
from tsgen.retrieve.systems import SYSTEMS, Fitted, System
from tsgen.settings import EngineConfig, weigher_hash


def _fit(data: DataSet, config: EngineConfig, seed: int, folder: Path) -> None:
    make_engine(data, config, seed, folder, folder.parent)


def reindexed(fitted: Fitted, data: DataSet, scratch: Path) -> Engine:
    """The engine over other documents: those that it does not have are added, all others that it
    has are removed, and nothing is trained."""
    copy = scratch / "engine"
    shutil.copytree(fitted.folder, copy, ignore=shutil.ignore_patterns(LOGS))
    engine, wanted = Engine.load(copy), {one.id for one in watched_documents(data)}
    there = list(engine.snapshot.generator.sets.documents)
    if gone := [name for name in there if name not in wanted]:
        engine.remove(gone)
    known = set(there)
    engine.add(one for one in data.documents() if one.id not in known)
    return engine


SYSTEMS.register(
    System(
        KIND,
        EngineConfig,
        _fit,
        Engine.load,
        trains=True,
        from_tables=engine_config,
        reindex=reindexed,
    )
)


PARTS: dict[str, dict[str, Any]] = {
    "tsgen-index": {},
    "tsgen-fast": {"candidates": 100},
    "tsgen-first-stage": {"stages": "first"},
    "tsgen-second-stage": {"stages": "second"},
    "tsgen-generator": {"lexical_weight": 0.0},
    "tsgen-words": {"prior_weight": 0.0},
}
"""The systems without training, and what differs in their [decode] from the preset `vectors`."""


class IndexedConfig(StageConfig):
    """What differs from the preset `vectors`."""

    n: int | None = None
    """Terms of each document; unset: as in the preset."""

    beam: int | None = None
    """Hypotheses of the beam search; unset: as in the preset."""

    preset: dict[str, Any] = Field(default_factory=lambda: dict(preset("vectors")))
    """The tables of the preset."""

    def tables(self) -> dict[str, dict[str, Any]]:
        """The preset with the other settings over it."""
        tables = {name: dict(table) for name, table in self.preset.items()}
        for table, name in (("terms", "n"), ("decode", "beam")):
            if (value := getattr(self, name)) is not None:
                tables[table][name] = value
        return tables


def _indexed(name: str, decode: dict[str, Any]) -> System:
    """The system without training whose [decode] has these settings."""

    def fit(data: DataSet, config: IndexedConfig, _seed: int, folder: Path) -> None:
        tables = config.tables()
        tables["decode"] |= decode
        (folder / ENGINE).mkdir(exist_ok=True)
        make_index(data, index_config(tables), None, folder / ENGINE, folder.parent)

    return System(name, IndexedConfig, fit, _load, aside=True)


ENGINE = "engine"  # the engine's folder inside that of the system


class TsgenMiniConfig(IndexedConfig):
    """What differs from the preset `mini`, and hashes of the shipped models for the cache key."""

    weights: str = Field(default_factory=weights_hash)
    """The hash of the shipped generator."""

    weigher: str = Field(default_factory=weigher_hash)
    """The hash of the shipped weigher."""

    preset: dict[str, Any] = Field(default_factory=lambda: dict(preset("mini")))
    """The tables of the preset."""


def _fit_mini(data: DataSet, config: TsgenMiniConfig, _seed: int, folder: Path) -> None:
    (folder / ENGINE).mkdir(exist_ok=True)
    make_index(data, index_config(config.tables()), tsgen_mini(), folder / ENGINE, folder.parent)


class FittedConfig(IndexedConfig):
    """What differs from the preset `vectors`, and how long is trained."""

    minutes: float | None = None
    """Train for so long; unset: for the epochs of the preset."""


def _fit_learned(data: DataSet, config: FittedConfig, seed: int, folder: Path) -> None:
    tables = config.tables()
    tables["train"]["minutes"] = config.minutes
    (folder / ENGINE).mkdir(exist_ok=True)
    make_engine(data, engine_config(tables), seed, folder / ENGINE, folder.parent)


def _load(folder: Path) -> Engine:
    return Engine.load(folder / ENGINE)


SYSTEMS.register(System("tsgen-mini", TsgenMiniConfig, _fit_mini, _load, aside=True))
SYSTEMS.register(System("tsgen-fit", FittedConfig, _fit_learned, _load, trains=True, aside=True))
for _name, _weights in PARTS.items():
    SYSTEMS.register(_indexed(_name, _weights))
