"""TSGen itself as a system: term sets, a trained generator, permutation-invariant decoding."""

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


# tsgen-mini without training: what `tsgen index` makes, as a system to compare with.

ENGINE = "engine"  # in the system's folder, whose manifest is that of a system


class TsgenMiniConfig(StageConfig):
    """What may differ from the preset `mini`; None: nothing."""

    n: int | None = None
    beam: int | None = None
    # What was searched with others is no use:
    weights: str = Field(default_factory=weights_hash)
    weigher: str = Field(default_factory=weigher_hash)
    preset: dict[str, Any] = Field(default_factory=lambda: dict(preset("mini")))


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
