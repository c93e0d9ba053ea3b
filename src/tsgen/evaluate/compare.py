"""Comparing systems on a data set: fit or load each, run the queries, one table.

What was fitted and searched before is taken from the cache; what was killed goes on from there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from tsgen.artifact import hash_strings, stage, stage_key
from tsgen.config import StageConfig, preset
from tsgen.corpus.dataset import DataSet, cache_folder_of, judged_inputs
from tsgen.corpus.splits import seen_unseen
from tsgen.errors import ConfigError
from tsgen.evaluate.comparison import SystemComparison
from tsgen.evaluate.metrics import evaluate_groups
from tsgen.evaluate.runs import write_trec
from tsgen.progress import show
from tsgen.records import Query, Run
from tsgen.retrieve.registry import System, check_tables, system, system_names
from tsgen.retrieve.retriever import Retriever
from tsgen.retrieve.searching import keep_run, read_kept_run
from tsgen.version import __version__

TRAINING_SPLITS = ("train", "dev")  # what a system that trains may look at


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
) -> SystemComparison:
    """Fit or load each system, search for the split's queries, and score the hits.

    `limit` takes the first so many queries. `configs` are settings by system, by default those of
    the `cpu` preset. `runs_dir` receives a TREC run file for each system. `title` heads the table.
    """
    chosen = _with_settings(systems, preset("cpu") if configs is None else configs)
    judgments = dict(islice(data.judgments(split).items(), limit))
    queries = [data.queries()[id] for id in judgments]
    bench = Bench(data, queries, k, seed, cache_folder_of(data, cache))
    runs = {each.name: bench.run(each, settings) for each, settings in chosen}
    if runs_dir is not None:
        for name, run in runs.items():
            write_trec(runs_dir / f"{name}.trec", run, tag=name)
    groups = query_groups(data, split)
    scores = {name: evaluate_groups(run, judgments, groups) for name, run in runs.items()}
    used = {each.name: settings.model_dump(mode="json") for each, settings in chosen}
    return SystemComparison(title or f"{data.name}, {split}", k, limit, scores, seed, used)


def _with_settings(
    names: Sequence[str], configs: Mapping[str, Mapping[str, Any]]
) -> list[tuple[System, StageConfig]]:
    """The systems with their settings; every mistake is found before any work starts."""
    check_tables(configs)
    systems = [system(name) for name in dict.fromkeys(names)]
    if not systems:
        raise ConfigError(f"no systems to compare; known: {', '.join(system_names())}")
    return [(each, each.settings(configs)) for each in systems]


def query_groups(data: DataSet, split: str) -> dict[str, set[str]]:
    """Seen and unseen queries, where there are both."""
    if "train" not in data.splits or split == "train":
        return {}
    seen, unseen = seen_unseen(data, split, "train")
    return {"seen": seen, "unseen": unseen} if seen and unseen else {}


class RunConfig(StageConfig):
    """What a cached run depends on beside the retriever and the queries."""

    k: int


@dataclass(frozen=True, slots=True)
class Bench:
    """What every system of a comparison is run on."""

    data: DataSet
    queries: Sequence[Query]
    k: int
    seed: int
    cache: Path

    def run(self, each: System, settings: StageConfig) -> Run:
        """A system's hits for all queries, from the cache as far as they are there."""
        fitted, key = self._fit(each, settings)
        return self.search(each.name, key, lambda: each.load(fitted))

    def search(self, name: str, key: str, load: Callable[[], Retriever]) -> Run:
        """The hits of a retriever with this key for all queries, loaded only to search."""

        def search(folder: Path) -> None:
            keep_run(load(), self.queries, self.k, folder, watch)

        def watch(done: int) -> None:
            show(f"{name}: queries", done, len(self.queries))

        texts = hash_strings(*(part for q in self.queries for part in (q.id, q.text)))
        inputs = {"retriever": key, "queries": texts}
        config = RunConfig(k=self.k)
        found, _ = self._stage(f"{name}-run", search, "run", config, inputs, seed=0)
        return read_kept_run(found)

    def _fit(self, each: System, settings: StageConfig) -> tuple[Path, str]:
        def fit(folder: Path) -> None:
            each.fit(self.data, settings, self.seed, folder)

        inputs = {"documents": self.data.fingerprint, "tsgen": __version__}
        inputs |= judged_inputs(self.data, *(TRAINING_SPLITS if each.trains else ()))
        return self._stage(each.name, fit, each.name, settings, inputs, self.seed)

    def _stage(
        self,
        label: str,
        work: Callable[[Path], None],
        kind: str,
        config: StageConfig,
        inputs: Mapping[str, str],
        seed: int,
    ) -> tuple[Path, str]:
        """A folder of its own for each key, so that no setting evicts another's work."""
        key = stage_key(kind, config.model_dump(mode="json"), inputs, seed)
        folder = self.cache / f"{label}-{key[:12]}"
        stage(folder, work, kind=kind, config=config, inputs=inputs, seed=seed)
        return folder, key
