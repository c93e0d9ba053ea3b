"""TSGen as a system to compare with others, trained (`tsgen`) and not trained (`tsgen-mini`).

`tsgen` is what `tsgen fit` makes: term sets, a generator trained on the data set, and
permutation-invariant decoding. `tsgen-mini` is what `tsgen index` makes: the same with the
generator that comes with the package and no training.
"""

from pathlib import Path
from typing import Any

from pydantic import Field

from tsgen.config import StageConfig, preset
from tsgen.corpus.dataset import DataSet
from tsgen.model.shipped import tsgen_mini, weights_hash
from tsgen.retrieve.build import engine_config, index_config, make_engine, make_index
from tsgen.retrieve.engine import KIND, Engine
from tsgen.retrieve.systems import SYSTEMS, System
from tsgen.settings import EngineConfig, weigher_hash


def _fit(data: DataSet, config: EngineConfig, seed: int, folder: Path) -> None:
    make_engine(data, config, seed, folder, folder.parent)


SYSTEMS.register(
    System(KIND, EngineConfig, _fit, Engine.load, trains=True, from_tables=engine_config)
)


ENGINE = "engine"  # the engine's folder inside that of the system


class TsgenMiniConfig(StageConfig):
    """What differs from the preset `mini`, and hashes of the shipped models for the cache key."""

    n: int | None = None
    """Terms of each document; unset: as in the preset."""
    beam: int | None = None
    """Hypotheses of the beam search; unset: as in the preset."""
    weights: str = Field(default_factory=weights_hash)
    """The hash of the shipped generator."""
    weigher: str = Field(default_factory=weigher_hash)
    """The hash of the shipped weigher."""
    preset: dict[str, Any] = Field(default_factory=lambda: dict(preset("mini")))
    """The tables of the preset."""


def _fit_mini(data: DataSet, config: TsgenMiniConfig, _seed: int, folder: Path) -> None:
    tables = {name: dict(table) for name, table in config.preset.items()}
    for table, name in (("terms", "n"), ("decode", "beam")):
        if (value := getattr(config, name)) is not None:
            tables[table][name] = value
    (folder / ENGINE).mkdir(exist_ok=True)
    make_index(data, index_config(tables), tsgen_mini(), folder / ENGINE, folder.parent)


def _load(folder: Path) -> Engine:
    return Engine.load(folder / ENGINE)


SYSTEMS.register(System("tsgen-mini", TsgenMiniConfig, _fit_mini, _load, aside=True))
