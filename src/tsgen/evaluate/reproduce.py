"""Running an experiment: every row fitted and searched once, whichever table asked for it first.

Rows are stages in the cache, so that tables share what they have in common, and an interrupted
command goes on with the first row that is missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, cache_folder_of, some_judged
from tsgen.evaluate.cases import Case, cases_table, find_cases
from tsgen.evaluate.compare import query_groups
from tsgen.evaluate.comparison import SystemComparison
from tsgen.evaluate.efficiency import BEAMS, efficiency_table, measure_each
from tsgen.evaluate.experiment import Experiment
from tsgen.evaluate.generalisation import check_groups, seen_unseen_table
from tsgen.evaluate.metrics import ALL, DEPTH, evaluate_groups
from tsgen.evaluate.minutes import training_minutes
from tsgen.evaluate.plots import ranked_plot
from tsgen.evaluate.tables import Column, Table, to_json
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.registry import System

SHOWN = "M@10"  # of quality, in plots
Rows = Mapping[str, tuple[System, StageConfig]]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What an experiment found: tables, all figures, and the series of its plot."""

    tables: Sequence[Table]
    figures: Mapping[str, Any]
    series: Mapping[str, Mapping[str, float]]  # of the plot: name → row → value; none for cases
    axis: str = SHOWN

    def plot(self, path: Path, title: str) -> None:
        """One line a row."""
        if self.series:
            ranked_plot(path, self.series, title=title, x=self.axis)


def reproduce(
    experiment: Experiment,
    data: DataSet,
    *,
    form: str = "cpu",
    rows: Sequence[str] = (),
    split: str = "test",
    limit: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    cache: Path | None = None,
    title: str | None = None,
) -> Reproduction:
    """Run the rows of a form, or some of them, on a split's queries or the first so many; with
    `minutes`, each row that trains does so for as long."""
    chosen = experiment.chosen(form, rows, minutes)
    judged = some_judged(data, split, limit)
    queries = [data.queries()[id] for id in judged]
    bench = Bench(data, queries, DEPTH, seed, cache_folder_of(data, cache))
    title = title or f"{experiment.title}: {data.name}, {split}, {form}"
    if experiment.kind == "efficiency":
        return _efficiency(bench, chosen, title)
    if experiment.kind == "cases":
        return _cases(bench, chosen, split, title)
    groups = query_groups(data, split)
    if experiment.kind == "seen-unseen":
        check_groups(groups, title)
    scores = {
        name: evaluate_groups(bench.run(*row), judged, groups) for name, row in chosen.items()
    }
    settings = {name: row[1].model_dump(mode="json") for name, row in chosen.items()}
    found = SystemComparison(title, DEPTH, limit, scores, seed, settings)
    spent = {name: training_minutes(bench, *row) for name, row in chosen.items()}
    return _quality(found, spent, experiment.kind == "seen-unseen")


def _quality(
    found: SystemComparison, minutes: Mapping[str, float | None], generalisation: bool
) -> Reproduction:
    whole = _with_minutes(found.table(), minutes)
    tables = [seen_unseen_table(found), whole] if generalisation else [whole]
    groups = list(found.scores[found.reference])
    series = {
        group: {name: one[group].means[SHOWN] for name, one in found.scores.items()}
        for group in groups
        if group != ALL or len(groups) == 1 or not generalisation
    }
    return Reproduction(tables, found.as_json() | {"minutes": dict(minutes)}, series)


def _with_minutes(table: Table, minutes: Mapping[str, float | None]) -> Table:
    """With one more column; the minutes of a row are the same whatever the queries."""
    rows = [replace(row, values=[*row.values, minutes[row.label]]) for row in table.rows]
    note = {"minutes": "of training, shared ones too; of fitting, if no training is noted"}
    columns = [*table.columns, Column("minutes", None, 1)]
    return replace(table, columns=columns, rows=rows, notes={**table.notes, **note}, label="row")


def _efficiency(bench: Bench, chosen: Rows, title: str) -> Reproduction:
    costs = measure_each(bench, ((name, *row) for name, row in chosen.items()))
    table = efficiency_table(costs, title)
    series = {
        f"beam {beam}": {cost.system: cost.milliseconds[beam] for cost in costs} for beam in BEAMS
    }
    return Reproduction([table], to_json(table), series, "milliseconds a query")


def _cases(bench: Bench, chosen: Rows, split: str, title: str) -> Reproduction:
    found: dict[str, list[Case]] = {}
    for name, (each, settings) in chosen.items():
        folder, _ = bench.fit(each, settings)
        found[name] = find_cases(each.load(folder), bench.data, split)
    tables = [cases_table(cases, f"{title}, {name}") for name, cases in found.items()]
    figures = {name: [case.as_json() for case in cases] for name, cases in found.items()}
    return Reproduction(tables, {"title": title, "cases": figures}, {})
