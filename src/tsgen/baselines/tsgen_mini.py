"""tsgen-mini without training: what `tsgen index` makes, as a system to compare with."""

from pathlib import Path

from tsgen.config import StageConfig, preset
from tsgen.corpus.dataset import DataSet
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.indexing import index_config, make_index
from tsgen.retrieve.registry import System, register


class TsgenMiniConfig(StageConfig):
    """What may differ from the preset `mini`; None: nothing."""

    n: int | None = None
    beam: int | None = None


def _fit(data: DataSet, config: TsgenMiniConfig, _seed: int, folder: Path) -> None:
    tables = {name: dict(table) for name, table in preset("mini").items()}
    for table, name in (("terms", "n"), ("decode", "beam")):
        if (value := getattr(config, name)) is not None:
            tables[table][name] = value
    make_index(data, index_config(tables), folder, folder.parent)


register(System("tsgen-mini", TsgenMiniConfig, _fit, Engine.load))
