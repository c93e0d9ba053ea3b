"""Reproduction of the paper's tables: an experiment is a TOML file of rows, each a system with
settings, and `reproduce` fits, searches and scores every row.

Rows are stages in the cache, so that tables share what they have in common, and an interrupted
experiment goes on with the first row that is missing. The file says:

    title = "…"
    kind = "quality"                  # or "seen-unseen", "efficiency", "cases"

    [forms.cpu]                       # a form is a preset, with settings over it for all rows
    preset = "cpu"

    [[rows]]
    name = "without synthetic queries"
    system = "tsgen"                  # the default
    settings.queries.writer = "none"  # over the form's
    forms.paper.…                     # over these, in one form
    only = ["cpu"]                    # the forms that have the row; by default all

The other rows are tested against the first one.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from itertools import combinations, islice
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from tsgen.artifact import LOGS
from tsgen.baselines.hybrid import HybridConfig
from tsgen.config import StageConfig, merged, preset, read_toml
from tsgen.corpus.dataset import DataSet, cache_folder_of, some_judged
from tsgen.corpus.in_memory import Documents, data_set_of
from tsgen.errors import ConfigError, DataError, nearest
from tsgen.evaluate.compare import (
    SystemComparison,
    check_groups,
    query_groups,
    seen_unseen_table,
    with_minutes,
)
from tsgen.evaluate.efficiency import BEAMS, efficiency_table, measure_each
from tsgen.evaluate.metrics import ALL, DEPTH, evaluate_groups
from tsgen.evaluate.plots import ranked_plot
from tsgen.evaluate.tables import Column, Row, Table, to_json
from tsgen.retrieve.bench import Bench, fitting_seconds
from tsgen.retrieve.build import training_stages
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.explain import Explanation, explain
from tsgen.retrieve.results import query_keys
from tsgen.retrieve.systems import SYSTEMS, System, check_tables
from tsgen.settings import EngineConfig
from tsgen.terms.words import Splitter
from tsgen.training_loop import TIME, training_seconds

# An experiment as a file: the rows of a table, each a system with settings over a preset.
#
#     title = "…"
#     kind = "quality"                  # or "seen-unseen", "efficiency", "cases"
#
#     [forms.cpu]                       # a form is a preset, with settings over it for all rows
#     preset = "cpu"
#
#     [[rows]]
#     name = "without synthetic queries"
#     system = "tsgen"                  # the default
#     settings.queries.writer = "none"  # over the form's
#     forms.paper.…                     # over these, in one form
#     only = ["cpu"]                    # the forms that have the row; by default all
#
# The first row is what the others are tested against.

HERE, SUFFIX = Path("experiments"), ".toml"
Tables = dict[str, dict[str, Any]]


class FormSpec(StageConfig):
    """A form of the experiment: the preset of all its rows, with settings over it."""

    preset: str
    minutes: float | None = Field(None, gt=0)  # of training, the same for each row that trains
    settings: Tables = Field(default_factory=dict)


class RowSpec(StageConfig):
    """One row of the experiment's table: a system with settings."""

    name: str = Field(pattern="^[^,]+$")  # commas are between names
    system: str = "tsgen"
    settings: Tables = Field(default_factory=dict)
    forms: dict[str, Tables] = Field(default_factory=dict)
    only: tuple[str, ...] = ()


class Experiment(StageConfig):
    """An experiment as its file describes it."""

    title: str
    kind: Literal["quality", "seen-unseen", "efficiency", "cases"] = "quality"
    forms: dict[str, FormSpec] = Field(min_length=1)
    rows: tuple[RowSpec, ...] = Field(min_length=1)

    def chosen(
        self, form: str, names: Sequence[str] = (), minutes: float | None = None
    ) -> dict[str, tuple[System, StageConfig]]:
        """The rows of a form, each with its system and settings.

        Every mistake in an experiment is found here, before any work.

        Args:
            form: The name of the form.
            names: Names of the rows to take; by default all.
            minutes: Minutes of training for each row that trains, in place of the form's.
        """
        if form not in self.forms:
            raise ConfigError(f"no form {form!r} of {self.title!r}; {nearest(form, self.forms)}")
        rows = {row.name: row for row in self.rows if form in (row.only or self.forms)}
        for name in names:
            if name not in rows:
                raise ConfigError(f"no row {name!r} in its form {form!r}; {nearest(name, rows)}")
        wanted = names or list(rows)
        budget = minutes or self.forms[form].minutes
        return {name: self._row(rows[name], form, budget) for name in rows if name in wanted}

    def _row(self, row: RowSpec, form: str, minutes: float | None) -> tuple[System, StageConfig]:
        tables: Mapping[str, Any] = preset(self.forms[form].preset)
        for over in (self.forms[form].settings, row.settings, row.forms.get(form, {})):
            tables = merged(tables, over)
        if minutes is not None:
            tables = with_minutes(tables, minutes)
        check_tables(tables)
        each = SYSTEMS.get(row.system)
        return each, each.settings(tables)


def read_experiment(name: str) -> Experiment:
    """Read an experiment's file, by its path or by the name that it has in ./experiments or in the
    package."""
    known = _known()
    if name in known:
        return Experiment.from_mapping(read_toml(known[name]), source=f"{known[name]}")
    if Path(name).suffix == SUFFIX:
        return Experiment.from_mapping(read_toml(Path(name)), source=name)
    raise ConfigError(
        f"no experiment {name!r}; expected a TOML file or a name: {nearest(name, known)}"
    )


def _known() -> dict[str, Path]:
    """The known experiments, name → file; those of the working folder hide the package's own, which
    are beside `src` in a checkout and inside the package where it is installed."""
    package = Path(str(files("tsgen")))
    places = (package.parents[1] / HERE, package / HERE, HERE)
    return {path.stem: path for place in places for path in sorted(place.glob(f"*{SUFFIX}"))}


def training_minutes(bench: Bench, each: System, settings: StageConfig) -> float | None:
    """Minutes of training behind a row of a table.

    For an engine these are all stages that were trained for it, by whatever command, for a hybrid
    the minutes of its parts, for other systems what their folders record of training, or else the
    time of the whole fit; None where no time is known.
    """
    if isinstance(settings, HybridConfig):
        parts = [(SYSTEMS.get(name), values) for name, values in settings.settings.items()]
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


# The case study (Table 7): one document, two queries, and the order of its terms for each.

CASES_SHOWN = 3
CANDIDATES = 100  # pairs of queries, at the most, from which the cases are chosen


@dataclass(frozen=True, slots=True)
class Case:
    """A document that two queries find first, by different orders of its terms."""

    document: str
    title: str
    queries: tuple[str, str]
    orders: tuple[tuple[str, ...], tuple[str, ...]]
    matching: tuple[tuple[str, ...], tuple[str, ...]]  # the terms that occur in the query
    log_probs: tuple[float, float]

    @property
    def difference(self) -> int:
        """The distance of the two orders: the sum over terms of the difference of their places."""
        first, second = self.orders
        return sum(abs(i - second.index(term)) for i, term in enumerate(first))

    def as_json(self) -> dict[str, Any]:
        """The fields as plain values."""
        return asdict(self)


def find_cases(engine: object, data: DataSet, split: str, number: int = CASES_SHOWN) -> list[Case]:
    """The cases whose two orders of terms differ most, of documents that two queries find first."""
    if not isinstance(engine, Engine):
        raise ConfigError("cases are those of an engine; expected rows with the system tsgen")
    candidates = list(islice(_candidates(engine, data, split), CANDIDATES))
    if not candidates:
        raise DataError(
            f"{data.name}, {split}: no document is found first by two of its queries; expected "
            "documents with several queries. Choose a larger split."
        )
    return sorted(candidates, key=lambda case: -case.difference)[:number]


def _candidates(engine: Engine, data: DataSet, split: str) -> Iterator[Case]:
    """Cases of documents that two of their queries find first, each pair of queries once."""
    splitter, queries = Splitter(engine.config.terms.words), data.queries()
    for document, ids in _queries_by_document(data, split).items():
        texts = [queries[id].text for id in ids]
        hits = engine.search(texts, k=1)
        right = [t for t, h in zip(texts, hits, strict=True) if h and h[0].document_id == document]
        if len(right) > 1:
            explained = explain(engine, document, right)
            for pair in combinations(explained, 2):
                yield _case(engine, document, pair, splitter)


def _queries_by_document(data: DataSet, split: str) -> dict[str, list[str]]:
    """The queries of each document that has two or more of them, at most three."""
    queries = defaultdict(list)
    for query, grades in data.judgments(split).items():
        for document, grade in grades.items():
            if grade > 0:
                queries[document].append(query)
    return {document: ids[:3] for document, ids in queries.items() if len(ids) > 1}


def _case(engine: Engine, document: str, pair: tuple[Explanation, ...], splitter: Splitter) -> Case:
    first, second = pair
    matching = tuple(
        tuple(t for t in one.terms if splitter.key(t) in query_keys(one.query, splitter))
        for one in pair
    )
    return Case(
        document,
        engine.document(document).title,
        (first.query, second.query),
        (first.terms, second.terms),
        (matching[0], matching[1]),
        (first.log_prob, second.log_prob),
    )


def cases_table(cases: Sequence[Case], title: str) -> Table:
    """Table 7: a row for each query, with the terms that occur in it in capitals."""
    rows = [
        Row(case.queries[i], [_order(case, i), case.log_probs[i]], case.title or case.document)
        for case in cases
        for i in range(2)
    ]
    columns = [Column("terms in the order of the model", None), Column("log p", None, 1)]
    notes = {"capitals": "terms that occur in the query"}
    return Table(columns, rows, title, notes, label="query", group_label="document")


def _order(case: Case, number: int) -> str:
    has = case.matching[number]
    return " › ".join(term.upper() if term in has else term for term in case.orders[number])


# Running an experiment.

PLOTTED_MEASURE = "M@10"
Rows = Mapping[str, tuple[System, StageConfig]]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The results of an experiment: tables, all figures for JSON, and the series of its plot."""

    tables: Sequence[Table]
    figures: Mapping[str, Any]
    series: Mapping[str, Mapping[str, float]]  # of the plot: name → row → value; none for cases
    axis: str = PLOTTED_MEASURE

    def plot(self, path: Path, title: str) -> None:
        """Plot the figures, one line for each row; the case study has no plot."""
        if self.series:
            ranked_plot(path, self.series, title=title, x=self.axis)


def reproduce(
    experiment: Experiment | str,
    data: Documents,
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
    """Fit and evaluate every row of a table of the paper, on any data set.

    Args:
        experiment: The table's name, such as "table1", the path of a TOML file, or its content.
        data: A data set, or a path or name that `tsgen.load` takes.
        form: "cpu" takes hours on two cores; "paper" is T5-base, for a GPU.
        rows: The names of some rows, in place of all.
        split: The judgments to evaluate on.
        limit: So many of the judged queries, evenly spread.
        minutes: Minutes of training for each row that trains, in place of the form's.
        seed: Equal seeds give equal figures.
        cache: The folder of what is trained, by default TSGEN_CACHE or ~/.cache/tsgen.
        title: The caption of the table.

    Examples:
        >>> tsgen.reproduce("table6", "stdlib:", rows=["term set"]).tables
    """
    if isinstance(experiment, str):
        experiment = read_experiment(experiment)
    data = data_set_of(data)
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
        group: {name: one[group].means[PLOTTED_MEASURE] for name, one in found.scores.items()}
        for group in groups
        if group != ALL or len(groups) == 1 or not generalisation
    }
    return Reproduction(tables, found.as_json() | {"minutes": dict(minutes)}, series)


def _with_minutes(table: Table, minutes: Mapping[str, float | None]) -> Table:
    """Add a column with the minutes of training, the same for a row in every group of queries."""
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
