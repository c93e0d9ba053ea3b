"""Comparing systems on a data set: fit or load each, run the queries, one table.

What was fitted and searched before is taken from the cache; what was killed goes on from there.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tsgen.config import StageConfig, preset
from tsgen.corpus.dataset import DataSet, cache_folder_of, some_judged
from tsgen.corpus.runs import write_trec
from tsgen.corpus.splits import seen_unseen
from tsgen.errors import ConfigError
from tsgen.evaluate.budget import minutes_of, with_minutes
from tsgen.evaluate.comparison import SystemComparison
from tsgen.evaluate.efficiency import measure_each
from tsgen.evaluate.metrics import evaluate_groups
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.registry import System, check_tables, system, system_names

ALL = "all"
PAPER = (
    *("bm25", "unicoil", "spladev2", "dpr", "ance", "gtr"),
    *("dsi", "nci", "genre", "ultron", "seal", "minder", "genret"),
)  # as its tables list them
LAST = "tsgen"


def compare(
    data: DataSet,
    systems: Sequence[str],
    *,
    split: str = "test",
    k: int = 100,
    limit: int | None = None,
    cache: Path | None = None,
    seed: int = 0,
    configs: Mapping[str, Mapping[str, Any]] | None = None,
    runs_dir: Path | None = None,
    title: str | None = None,
    minutes: float | None = None,
    efficiency: bool = False,
) -> SystemComparison:
    """Fit or load each system, search for the split's queries, and score the hits.

    `limit` takes so many queries, evenly spread. `configs` are settings by system, by default those
    of the `cpu` preset. `runs_dir` receives a TREC run file for each system. `title` heads the
    table. `minutes` are those of training for each system that trains. `efficiency` measures time
    and size as well, anew each time.
    """
    chosen = _with_settings(systems, preset("cpu") if configs is None else configs, minutes)
    judgments = some_judged(data, split, limit)
    queries = [data.queries()[id] for id in judgments]
    bench = Bench(data, queries, k, seed, cache_folder_of(data, cache))
    runs = {each.name: bench.run(each, settings) for each, settings in chosen}
    if runs_dir is not None:
        for name, run in runs.items():
            write_trec(runs_dir / f"{name}.trec", run, tag=name)
    groups = query_groups(data, split)
    scores = {name: evaluate_groups(run, judgments, groups) for name, run in runs.items()}
    used = {each.name: settings.model_dump(mode="json") for each, settings in chosen}
    budgets = {each.name: minutes_of(settings) for each, settings in chosen}
    costs = measure_each(bench, ((each.name, each, s) for each, s in chosen)) if efficiency else ()
    title = title or f"{data.name}, {split}"
    return SystemComparison(title, k, limit, scores, seed, used, budgets, costs)


def _with_settings(
    names: Sequence[str], configs: Mapping[str, Mapping[str, Any]], minutes: float | None
) -> list[tuple[System, StageConfig]]:
    """The systems with their settings; every mistake is found before any work starts."""
    check_tables(configs)
    systems = [system(name) for name in dict.fromkeys(_listed(names))]
    if minutes is not None:
        configs = with_minutes(configs, minutes)
    if not systems:
        raise ConfigError(f"no systems to compare; known: {', '.join(system_names())}")
    return [(each, each.settings(configs)) for each in systems]


def _listed(names: Sequence[str]) -> Iterator[str]:
    """The names, with `all` standing for those of the paper's tables, in its order, and like them;
    TSGen last."""
    for name in names:
        if name == ALL:
            known = [name for name in system_names() if not system(name).aside]
            yield from (*PAPER, *(name for name in known if name not in (*PAPER, LAST)), LAST)
        else:
            yield name


def query_groups(data: DataSet, split: str) -> dict[str, set[str]]:
    """Seen and unseen queries, where there are both."""
    if "train" not in data.splits or split == "train":
        return {}
    seen, unseen = seen_unseen(data, split, "train")
    return {"seen": seen, "unseen": unseen} if seen and unseen else {}
