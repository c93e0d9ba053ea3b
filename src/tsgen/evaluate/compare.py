"""Comparison of systems on a data set: `compare` fits each, searches and scores (Tables 1, 2, 5).

The first system is the reference, against which the others are tested (paired t-test,
Holm-corrected). What was fitted and searched before is taken from the cache, and an interrupted
comparison goes on from there.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from tsgen.config import StageConfig, merged, preset
from tsgen.corpus.dataset import DataSet, cache_folder_of, some_judged
from tsgen.corpus.in_memory import Documents, data_set_of
from tsgen.corpus.runs import write_trec
from tsgen.corpus.splits import seen_unseen
from tsgen.errors import ConfigError, DataError
from tsgen.evaluate.efficiency import Cost, efficiency_table, measure_each
from tsgen.evaluate.metrics import MEASURES, Scores, evaluate_groups
from tsgen.evaluate.significance import LEVEL, Comparison, compare_with
from tsgen.evaluate.tables import Column, Row, Table, p_value, to_json
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.systems import SYSTEMS, System, check_tables
from tsgen.version import __version__

MINUTES = "minutes"  # the setting of a training budget
BETTER, WORSE = "†", "‡"
BEST_RIVAL = "*"  # better than the best of the generative baselines: the paper's star
DEVIATION = "± "  # before a measure: the standard deviation over seeds
TESTED_MEASURE = "M@10"  # of the table of differences
GROUPS = ("seen", "unseen", "all")
GENERALISATION_MEASURES = ("M@10", "R@10")  # of Table 2
ALL_SYSTEMS = "all"
PAPER = (
    *("bm25", "unicoil", "spladev2", "dpr", "ance", "gtr"),
    *("dsi", "nci", "genre", "ultron", "seal", "minder", "genret"),
)
"""The systems of the paper's tables, in their order."""
LAST = "tsgen"


def with_minutes(
    tables: Mapping[str, Mapping[str, Any]], minutes: float
) -> dict[str, dict[str, Any]]:
    """Add a training budget in minutes to the tables of a settings file: to [train], and to the
    table of each system that has a setting `minutes` of its own."""
    own = [name for name in SYSTEMS.names() if MINUTES in SYSTEMS.get(name).config.model_fields]
    return merged(tables, {name: {MINUTES: minutes} for name in ("train", *own)})


def minutes_of(settings: StageConfig) -> float | None:
    """The training budget among a system's settings; None if they have none."""
    train = getattr(settings, "train", None)
    minutes: float | None = getattr(settings, MINUTES, getattr(train, MINUTES, None))
    return minutes


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """Every system's scores on each group of queries; the first system is the reference."""

    title: str  # what was compared on: data set and split
    k: int
    limit: int | None
    scores: Mapping[str, Mapping[str, Scores]]  # system → group (all, seen, unseen) → scores
    seeds: Sequence[int] = (0,)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by system
    minutes: Mapping[str, float | None] = field(default_factory=dict)  # of training, if limited
    costs: Sequence[Cost] = ()
    measures: Sequence[str] = tuple(MEASURES)
    deviations: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Over several seeds: system → group → measure → standard deviation of the seeds' means."""
    rivals: Sequence[str] = ()  # the generative baselines
    own: Sequence[str] = ()  # systems that are tested against the best of them

    @property
    def reference(self) -> str:
        """The system that the others are tested against."""
        return next(iter(self.scores))

    def significance(self, group: str, measure: str) -> list[Comparison]:
        """Paired t-tests of the other systems against the reference, Holm-corrected."""
        by_system = {name: groups[group] for name, groups in self.scores.items()}
        return compare_with(by_system.pop(self.reference), by_system, measure)

    def rival_tests(self, group: str, measure: str) -> tuple[str, list[Comparison]]:
        """The best generative baseline by a measure, and the paired t-tests of one's own systems
        against it; no tests where there is nothing to compare."""
        if not (self.rivals and self.own):
            return "", []
        scores = {name: groups[group] for name, groups in self.scores.items()}
        best = max(self.rivals, key=lambda name: scores[name].means[measure])
        own = {name: scores[name] for name in self.own}
        return best, compare_with(scores[best], own, measure)

    def table(self) -> Table:
        """Table 1: groups of queries as sections, systems as rows; marks where a system differs
        significantly from the reference."""
        groups = list(self.scores[self.reference])
        rows = [row for group in groups for row in self._rows(group, len(groups) > 1)]
        columns = [Column("n", best=None), *(Column(measure) for measure in self.measures)]
        if self.deviations:
            columns += [Column(f"{DEVIATION}{measure}", best=None) for measure in self.measures]
        return Table(columns, rows, self.title, self._notes())

    def as_json(self) -> dict[str, Any]:
        """The table with full figures, each test's outcome, and all systems' settings."""
        tests = [
            {
                "queries": group,
                "system": test.system,
                "reference": reference,
                "measure": measure,
                "difference": test.mean_difference,
                "p": test.p,
                "corrected_p": test.corrected_p,
            }
            for group in self.scores[self.reference]
            for measure in self.measures
            for reference, found in (
                (self.reference, self.significance(group, measure)),
                self.rival_tests(group, measure),
            )
            for test in found
        ]
        made: dict[str, Any] = {"date": date.today().isoformat(), "tsgen": __version__}
        made |= {
            "seeds": list(self.seeds),
            "settings": self.settings,
            "minutes": dict(self.minutes),
        }
        return to_json(self.table()) | {"significance": tests} | made

    def _rows(self, group: str, several: bool) -> Iterator[Row]:
        marks = self._marks(group)
        for name, groups in self.scores.items():
            scores = groups[group]
            values = [len(scores), *(scores.means[measure] for measure in self.measures)]
            if self.deviations:
                values += [self.deviations[name][group][measure] for measure in self.measures]
            yield Row(name, values, group if several else "", marks.get(name, {}))

    def _marks(self, group: str) -> dict[str, dict[str, str]]:
        marks: dict[str, dict[str, str]] = {}
        for measure in self.measures:
            for test in self.significance(group, measure):
                if test.significant:
                    mark = BETTER if test.mean_difference > 0 else WORSE
                    marks.setdefault(test.system, {})[measure] = mark
            for test in self.rival_tests(group, measure)[1]:
                if test.significant and test.mean_difference > 0:
                    known = marks.setdefault(test.system, {})
                    known[measure] = known.get(measure, "") + BEST_RIVAL
        return marks

    def _notes(self) -> dict[str, str]:
        notes = {"hits": f"at most {self.k} a query"}
        if self.limit is not None:
            notes["limit"] = f"{self.limit:,} queries, evenly spread"
        limited = {name: minutes for name, minutes in self.minutes.items() if minutes is not None}
        if limited:
            told = ", ".join(f"{name} {minutes:g}" for name, minutes in limited.items())
            notes["minutes of training"] = told
        if len(self.scores) > 1:
            test = f"paired t-test, p < {LEVEL}, Holm-corrected"
            notes |= {f"{BETTER} / {WORSE}": f"better / worse than {self.reference} ({test})"}
            if self.rivals and self.own:
                notes |= {BEST_RIVAL: f"better than the best of {', '.join(self.rivals)} ({test})"}
        if self.deviations:
            seeds = ", ".join(map(str, self.seeds))
            notes |= {"±": f"standard deviation of the means of the seeds {seeds}"}
        return notes


def differences_table(comparison: SystemComparison) -> Table:
    """Systems as rows; for each group of queries the difference in M@10 to the reference, and its
    corrected p, which the marks † and ‡ stand for."""
    groups = list(comparison.scores[comparison.reference])
    rows: dict[str, list[float | str]] = {}
    for group in groups:
        for test in comparison.significance(group, TESTED_MEASURE):
            told = test.mean_difference, p_value(test.corrected_p)
            rows.setdefault(test.system, []).extend(told)
    columns = [Column(f"{group}{what}", None) for group in groups for what in ("", ", p")]
    title = f"{comparison.title}: {TESTED_MEASURE} less that of {comparison.reference}"
    notes = {"p": "paired t-test, Holm-corrected for the systems of the table"}
    return Table(columns, [Row(name, values) for name, values in rows.items()], title, notes)


def check_groups(groups: Container[str], title: str) -> None:
    """Refuse queries that are all seen or all unseen."""
    if not all(group in groups for group in GROUPS[:2]):
        raise DataError(
            f"{title}: all queries are seen or all are unseen; expected both. "
            "`tsgen split DATA --out FOLDER` keeps the training queries of half of the documents."
        )


def seen_unseen_table(comparison: SystemComparison) -> Table:
    """Table 2: systems as rows; M@10 and R@10 of the seen, the unseen and all queries."""
    groups = comparison.scores[comparison.reference]
    check_groups(groups, comparison.title)
    columns = [
        Column(f"{group} {measure}") for group in GROUPS for measure in GENERALISATION_MEASURES
    ]
    rows = [
        Row(
            name,
            [
                scores[group].means[measure]
                for group in GROUPS
                for measure in GENERALISATION_MEASURES
            ],
        )
        for name, scores in comparison.scores.items()
    ]
    counts = ", ".join(f"{group} {len(groups[group]):,}" for group in GROUPS)
    return Table(columns, rows, f"{comparison.title}: seen and unseen", {"queries": counts})


def compare(
    data: Documents,
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

    Args:
        data: A data set, or a path or name that `tsgen.load` takes.
        systems: Names of systems, `all` for those of the paper; the others are tested against the
            first.
        split: The judgments to evaluate on.
        k: Hits of a query.
        limit: So many of the judged queries, evenly spread.
        cache: The folder of what is fitted, by default TSGEN_CACHE or ~/.cache/tsgen.
        seed: Equal seeds give equal figures.
        configs: Settings by system, by default those of the preset `cpu`.
        runs_dir: A folder for a TREC run file of each system.
        title: The caption of the table.
        minutes: Minutes of training for each system that trains.
        efficiency: Also measure time and size, anew each time.

    Examples:
        >>> tsgen.compare("stdlib:", ["bm25", "tsgen"]).table()
    """
    data = data_set_of(data)
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
    return SystemComparison(title, k, limit, scores, (seed,), used, budgets, costs)


def _with_settings(
    names: Sequence[str], configs: Mapping[str, Mapping[str, Any]], minutes: float | None
) -> list[tuple[System, StageConfig]]:
    """The systems with their settings; every mistake in them is reported before any work starts."""
    check_tables(configs)
    systems = [SYSTEMS.get(name) for name in dict.fromkeys(_expanded(names))]
    if minutes is not None:
        configs = with_minutes(configs, minutes)
    if not systems:
        raise ConfigError(f"no systems to compare; known: {', '.join(SYSTEMS.names())}")
    return [(each, each.settings(configs)) for each in systems]


def _expanded(names: Sequence[str]) -> Iterator[str]:
    """The names; in place of `all` the systems of the paper's tables, then all others but variants
    (`System.aside`), then TSGen."""
    for name in names:
        if name == ALL_SYSTEMS:
            known = [name for name in SYSTEMS.names() if not SYSTEMS.get(name).aside]
            yield from (*PAPER, *(name for name in known if name not in (*PAPER, LAST)), LAST)
        else:
            yield name


def query_groups(data: DataSet, split: str) -> dict[str, set[str]]:
    """The ids of seen and of unseen queries; no groups where all are seen or all unseen."""
    if "train" not in data.splits or split == "train":
        return {}
    seen, unseen = seen_unseen(data, split, "train")
    return {"seen": seen, "unseen": unseen} if seen and unseen else {}


def compared(
    comparison: SystemComparison, seen_unseen: bool = False
) -> tuple[list[Table], dict[str, Any]]:
    """All tables of a comparison, and their figures for JSON with the tests of all measures.

    These are Table 1 and the differences to the reference, with `seen_unseen` Table 2 and, where
    costs were measured, Table 5.
    """
    tables, figures = [comparison.table()], comparison.as_json()
    if len(comparison.scores) > 1:
        tables.append(differences_table(comparison))
    if seen_unseen:
        tables.append(seen_unseen_table(comparison))
        figures["seen_unseen"] = to_json(tables[-1])
    if comparison.costs:
        tables.append(efficiency_table(comparison.costs, f"{comparison.title}: efficiency"))
        figures["efficiency"] = to_json(tables[-1])
    return tables, figures
