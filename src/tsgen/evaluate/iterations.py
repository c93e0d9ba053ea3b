"""What each iteration of training gains: the engine after every one, beside BM25.

Every iteration after the first trains on the permutations that the generator of the one before it
favours (`tsgen.train.iterate`). The engine after each iteration searches for the same queries; each
is tested against BM25 and, by a paired t-test, against the iteration before it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from tsgen.artifact import hash_strings, read_manifest
from tsgen.corpus.dataset import DataSet, cache_folder_of, some_judged
from tsgen.docids.term_set import TermSets
from tsgen.evaluate.compare import SystemComparison, query_groups
from tsgen.evaluate.metrics import ALL, DEPTH, MEASURES, evaluate_groups
from tsgen.evaluate.significance import Comparison, compare_with
from tsgen.evaluate.tables import Table, format_value, p_value
from tsgen.model.generator import Generator
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.build import trained_stages, training_stages
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.snapshot import Snapshot
from tsgen.retrieve.systems import SYSTEMS
from tsgen.train.iterate import MODEL
from tsgen.training_loop import training_seconds

REFERENCE = "bm25"


@dataclass(frozen=True, slots=True)
class IterationComparison:
    """Figures of BM25 and of every iteration, each tested against BM25 and the one before it."""

    comparison: SystemComparison
    minutes: Mapping[str, float]  # of training of each stage (a learned weigher, each iteration)

    def gains(self, group: str, measure: str) -> list[Comparison]:
        """Paired t-tests of each iteration from the second on against the one before it."""
        scores = self.comparison.scores
        steps = pairwise(name for name in scores if name != REFERENCE)
        tests = [
            compare_with(scores[before][group], {after: scores[after][group]}, measure)
            for before, after in steps
        ]
        return [test for found in tests for test in found]

    def table(self) -> Table:
        """The comparison's table, with the gain of each iteration and the minutes as notes."""
        table = self.comparison.table()
        notes = {
            f"{gain.system} − the one before, M@10": f"{_signed(gain.mean_difference)} ({_p(gain)})"
            for gain in self.gains(ALL, "M@10")
        }
        minutes = ", ".join(f"{name} {time:.1f}" for name, time in self.minutes.items())
        return replace(table, notes={**table.notes, **notes, "minutes of training": minutes})

    def as_json(self) -> dict[str, Any]:
        """All figures, tests, settings and training times."""
        gains = [
            {
                "queries": group,
                "system": gain.system,
                "measure": measure,
                "difference": gain.mean_difference,
                "p": gain.p,
            }
            for group in self.comparison.scores[REFERENCE]
            for measure in MEASURES
            for gain in self.gains(group, measure)
        ]
        more = {"gains": gains, "minutes": dict(self.minutes)}
        return self.comparison.as_json() | more | {"notes": dict(self.table().notes)}


def compare_iterations(
    data: DataSet,
    engine: Path,
    *,
    split: str = "test",
    limit: int | None = None,
    cache: Path | None = None,
    title: str | None = None,
) -> IterationComparison:
    """Search with the engine as it was after each iteration. What the cache no longer holds of its
    training is trained again; runs are kept there, and go on where they were interrupted."""
    opened, seed = Engine.load(engine), read_manifest(engine).seed
    judgments = some_judged(data, split, limit)
    queries = [data.queries()[id] for id in judgments]
    bench = Bench(data, queries, DEPTH, seed, cache_folder_of(data, cache))
    terms, iterations = trained_stages(data, opened.config, seed, bench.cache)
    asking = [part.model_dump_json() for part in (opened.config.decode, opened.config.search)]
    lexical = SYSTEMS.get(REFERENCE)
    runs = {REFERENCE: bench.run(lexical, lexical.settings({}))}
    for number, folder in enumerate(iterations, 1):
        key = hash_strings(read_manifest(folder).key, *asking)
        after = _IterationOf(opened, terms, folder)
        runs[f"iteration {number}"] = bench.search(f"iteration-{number}", key, after.engine)
    groups = query_groups(data, split)
    scores = {name: evaluate_groups(run, judgments, groups) for name, run in runs.items()}
    settings = {"tsgen": opened.config.model_dump(mode="json")}
    shown = title or f"{data.name}, {split}"
    comparison = SystemComparison(shown, DEPTH, limit, scores, (seed,), settings)
    stages = training_stages(data, opened.config, seed, bench.cache)
    minutes = {name: training_seconds(folder) / 60 for name, folder in stages.items()}
    return IterationComparison(comparison, minutes)


@dataclass(frozen=True, slots=True)
class _IterationOf:
    """An engine with the generator that one of its iterations has trained."""

    last: Engine
    terms: Path
    iteration: Path

    def engine(self) -> Snapshot:
        """Open the engine with the generator of that iteration."""
        config, sets = self.last.config, TermSets.load(self.terms)
        generator = Generator.load(self.iteration / MODEL, sets, config.model)
        return Snapshot.of(generator, config, self.last.documents)


def _signed(value: float) -> str:
    return ("+" if value >= 0 else "−") + format_value(abs(value))


def _p(test: Comparison) -> str:
    told = p_value(test.p)
    return f"p {told}" if isinstance(told, str) else f"p = {format_value(told)}"
