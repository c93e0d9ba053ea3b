"""TSGen itself as a system: term sets, a trained generator, permutation-invariant decoding."""

from pathlib import Path

from tsgen.corpus.dataset import DataSet
from tsgen.retrieve.engine import KIND, Engine, EngineConfig, engine_config
from tsgen.retrieve.fitting import make_engine
from tsgen.retrieve.registry import System, register


def _fit(data: DataSet, config: EngineConfig, seed: int, folder: Path) -> None:
    make_engine(data, config, seed, folder, folder.parent)


register(System(KIND, EngineConfig, _fit, Engine.load, trains=True, from_tables=engine_config))
