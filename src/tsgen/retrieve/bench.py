"""A bench: systems fitted on one data set and run on the same queries, each once.

What was fitted and searched before is taken from the cache; what was killed goes on from there.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from tsgen.artifact import LOGS, hash_strings, stage, stage_key, write_beside
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, judged_inputs
from tsgen.progress import show
from tsgen.records import Query, Run
from tsgen.retrieve.registry import System
from tsgen.retrieve.retriever import Retriever
from tsgen.retrieve.searching import keep_run, read_kept_run
from tsgen.version import __version__

FITTING = "fitting.json"  # in a fitted system's logs: how long it took
TRAINING_SPLITS = ("train", "dev")  # what a system that trains may look at


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
        fitted, key = self.fit(each, settings)
        if each.from_parts is not None:
            return each.from_parts(
                fitted, settings, self.k, lambda part, own, k: replace(self, k=k).run(part, own)
            )
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

    def fit(self, each: System, settings: StageConfig) -> tuple[Path, str]:
        """The folder in the cache with the fitted system, and its key."""

        def fit(folder: Path) -> None:
            began = monotonic()
            each.fit(self.data, settings, self.seed, folder)
            with write_beside(folder / LOGS / FITTING) as beside:
                beside.write_text(json.dumps({"seconds": monotonic() - began}) + "\n")

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


def fitting_seconds(fitted: Path) -> float | None:
    """How long the last call took that fitted a system; None if that was not noted."""
    path = fitted / LOGS / FITTING
    return json.loads(path.read_text())["seconds"] if path.exists() else None
