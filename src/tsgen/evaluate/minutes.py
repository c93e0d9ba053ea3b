"""How long the training behind a row of a table took."""

from tsgen.artifact import LOGS
from tsgen.baselines.hybrid import HybridConfig
from tsgen.config import StageConfig
from tsgen.retrieve.bench import Bench, fitting_seconds
from tsgen.retrieve.engine import EngineConfig
from tsgen.retrieve.fitting import training_stages
from tsgen.retrieve.registry import System, system
from tsgen.training_loop import TIME, training_seconds


def training_minutes(bench: Bench, each: System, settings: StageConfig) -> float | None:
    """Of an engine all stages that were trained for it, by whatever command; of a hybrid its
    parts. Other systems: their training if it is noted in their folders, else all of their fitting.
    """
    if isinstance(settings, HybridConfig):
        parts = [(system(name), values) for name, values in settings.settings.items()]
        found = [training_minutes(bench, one, one.config.from_mapping(v)) for one, v in parts]
        return sum(minutes for minutes in found if minutes is not None)
    folder, _ = bench.fit(each, settings)
    if isinstance(settings, EngineConfig):
        stages = list(training_stages(bench.data, settings, bench.seed, bench.cache).values())
    else:
        stages = [path.parents[1] for path in folder.rglob(f"{LOGS}/{TIME}")]
    if stages:
        return sum(map(training_seconds, stages)) / 60
    seconds = fitting_seconds(folder)
    return None if seconds is None else seconds / 60
