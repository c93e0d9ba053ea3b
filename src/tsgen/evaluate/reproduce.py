"""Reproduction of the paper's tables: `reproduce` fits, searches and scores every row of an
experiment (see `experiment`).

Rows are stages in the cache, so that tables share what they have in common, and an interrupted
experiment goes on with the first row that is missing. With several seeds each has stages of its
own; figures are means, and the tests are on each query's mean over the seeds.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations, islice
from pathlib import Path
from typing import Any

from tsgen.artifact import LOGS
from tsgen.baselines.hybrid import HybridConfig
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, cache_folder_of, some_judged
from tsgen.corpus.in_memory import Documents, data_set_of
from tsgen.corpus.shards import SEEN, TEST, Shard, sharded
from tsgen.errors import ConfigError, DataError
from tsgen.evaluate.compare import (
    SystemComparison,
    check_groups,
    query_groups,
    seen_unseen_table,
)
from tsgen.evaluate.efficiency import BEAMS, efficiency_table, measure_each
from tsgen.evaluate.experiment import Experiment, Rows, known_measures, read_experiment
from tsgen.evaluate.generalisation import (
    check_reindexed,
    shard_scores,
    shard_sizes,
    shard_table,
)
from tsgen.evaluate.metrics import ALL, DEPTH, Scores, deviations, evaluate_groups, mean_scores
from tsgen.evaluate.plan import TFLOPS, Plan, plan
from tsgen.evaluate.plots import ranked_plot
from tsgen.evaluate.tables import Column, Row, Table, to_json
from tsgen.records import Judgments
from tsgen.retrieve.bench import Bench, fitting_seconds
from tsgen.retrieve.build import training_stages
from tsgen.retrieve.engine import KIND, Engine
from tsgen.retrieve.explain import Explanation, explain
from tsgen.retrieve.results import query_keys
from tsgen.retrieve.sequence_systems import SequenceConfig
from tsgen.retrieve.systems import SYSTEMS, System
from tsgen.settings import EngineConfig
from tsgen.terms.words import Splitter
from tsgen.training_loop import TIME, training_seconds


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
PAPER = "paper "  # before a measure: the figure that the paper reports


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
    seeds: Sequence[int] = (0,),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    measures: Sequence[str] = (),
    known_as: str | None = None,
    shards: Path | str | None = None,
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
        seeds: Each row is fitted once for each; equal seeds give equal figures.
        settings: Settings by section over those of every row.
        measures: The measures of the tables, by default those of the experiment.
        known_as: The paper's name of the data set, such as "NQ320K", if that is not in its own.
        shards: The folder with the lists of seen and unseen documents, for Tables 2 and 3.
        cache: The folder of what is trained, by default TSGEN_CACHE or ~/.cache/tsgen.
        title: The caption of the table.

    Examples:
        >>> tsgen.reproduce("table6", "stdlib:", rows=["term set"]).tables
    """
    if isinstance(experiment, str):
        experiment = read_experiment(experiment)
    wanted = known_measures(measures or experiment.measures)
    data = data_set_of(data)
    known_as = known_as or experiment.known_as(data.name)
    chosen = experiment.chosen(form, rows, minutes, settings, known_as)
    title = title or f"{experiment.title}: {data.name}, {split}, {form}"
    expected = experiment.expected(known_as)
    if shards is not None or experiment.kind == "shards":
        parts = _shards(experiment, data, shards, split)
        asked = SystemComparison(title, DEPTH, limit, {}, seeds, measures=wanted)
        return _sharded(experiment, parts, chosen, asked, expected, cache)
    judged = some_judged(data, split, limit)
    queries = [data.queries()[id] for id in judged]
    benches = [Bench(data, queries, DEPTH, seed, cache_folder_of(data, cache)) for seed in seeds]
    if experiment.kind == "efficiency":
        return _efficiency(benches[0], chosen, title, expected)
    if experiment.kind == "cases":
        return _cases(benches[0], chosen, split, title)
    groups = query_groups(data, split)
    if experiment.kind == "seen-unseen":
        check_groups(groups, title)
    score = partial(_grouped_scores, judged=judged, groups=groups)
    found = _compared(benches, chosen, score)
    found = replace(found, title=title, limit=limit, measures=wanted)
    spent = {name: _mean_minutes(benches, *row) for name, row in chosen.items()}
    return _quality(_starred(found, experiment), spent, experiment.kind == "seen-unseen", expected)


def dry_run(
    experiment: Experiment | str,
    data: Documents | None = None,
    *,
    form: str = "paper",
    rows: Sequence[str] = (),
    split: str = "test",
    minutes: float | None = None,
    seeds: Sequence[int] = (0,),
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    known_as: str | None = None,
    shards: Path | str | None = None,
    cache: Path | None = None,
    tflops: float = TFLOPS,
) -> Plan:
    """Say what `reproduce` would do with the same arguments, what of it is done, and what the rest
    costs.

    Args:
        experiment: As for `reproduce`.
        data: As for `reproduce`; None for a data set of the size of the paper's.
        form: As for `reproduce`, like all that is not explained here.
        tflops: TFLOP/s that a training sustains on the GPU.
    """
    if isinstance(experiment, str):
        experiment = read_experiment(experiment)
    source = None if data is None else data_set_of(data)
    own = experiment.data if source is None else experiment.known_as(source.name)
    known_as = known_as or own
    chosen = experiment.chosen(form, rows, minutes, settings, known_as)
    title = f"{experiment.title}: {known_as if source is None else source.name}, {form}, dry run"
    if source is not None and shards is not None:  # what is trained is trained on the seen one
        source, split = _shards(experiment, source, shards, split)[SEEN], TEST
    folder = None if source is None else cache_folder_of(source, cache)
    return plan(experiment, chosen, title, known_as, source, split, seeds, folder, tflops)


def _grouped_scores(
    bench: Bench,
    each: System,
    settings: StageConfig,
    judged: Judgments,
    groups: Mapping[str, set[str]],
) -> dict[str, Scores]:
    return evaluate_groups(bench.run(each, settings), judged, groups)


def _shards(
    experiment: Experiment, data: DataSet, folder: Path | str | None, split: str
) -> dict[str, Shard]:
    """The shards of a data set, for an experiment that has a use for them."""
    if folder is None:
        raise ConfigError(
            f"{experiment.title}: {data.name} has no shards; expected --shards FOLDER with "
            "seen.ids and unseen.ids, such as `tsgen split DATA --out FOLDER` writes"
        )
    if experiment.kind not in ("shards", "seen-unseen"):
        raise ConfigError(f"{experiment.title} is not about shards; leave out --shards")
    return sharded(data, Path(folder), split)


def _sharded(
    experiment: Experiment,
    shards: Mapping[str, Shard],
    chosen: Rows,
    asked: SystemComparison,
    expected: Mapping[str, Mapping[str, float]],
    cache: Path | None,
) -> Reproduction:
    """Tables 2 and 3 by shards: trained on the seen one, searched in each."""
    if experiment.kind == "shards":
        sizes = shard_sizes(shards)
        table = shard_table(sizes, asked.title, expected)
        return Reproduction([table], {"title": asked.title, "shards": sizes}, {})
    check_reindexed([system for system, _ in chosen.values()])
    seen = shards[SEEN]
    folder = cache_folder_of(seen, cache)
    benches = [Bench(seen, [], DEPTH, seed, folder) for seed in asked.seeds]

    def score(bench: Bench, each: System, settings: StageConfig) -> dict[str, Scores]:
        return shard_scores(bench, shards, each, settings, asked.limit)

    found = _compared(benches, chosen, score)
    found = replace(found, title=asked.title, limit=asked.limit, measures=asked.measures)
    spent = {name: _mean_minutes(benches, *row) for name, row in chosen.items()}
    return _quality(_starred(found, experiment), spent, True, expected)


def _compared(
    benches: Sequence[Bench],
    chosen: Rows,
    score: Callable[[Bench, System, StageConfig], dict[str, Scores]],
) -> SystemComparison:
    """The scores of every row, averaged over the seeds of the benches."""
    means: dict[str, dict[str, Scores]] = {}
    spread: dict[str, dict[str, dict[str, float]]] = {}
    for name, row in chosen.items():
        by_seed = [score(bench, *row) for bench in benches]
        means[name] = {g: mean_scores([one[g] for one in by_seed]) for g in by_seed[0]}
        if len(benches) > 1:
            spread[name] = {g: deviations([one[g] for one in by_seed]) for g in by_seed[0]}
    return SystemComparison(
        "",
        DEPTH,
        None,
        means,
        [bench.seed for bench in benches],
        {name: row[1].model_dump(mode="json") for name, row in chosen.items()},
        deviations=spread,
        rivals=[name for name, row in chosen.items() if isinstance(row[1], SequenceConfig)],
        own=[name for name, row in chosen.items() if row[0].name == KIND],
    )


def _starred(found: SystemComparison, experiment: Experiment) -> SystemComparison:
    """The comparison with the paper's star, if the experiment is one that has it."""
    return found if experiment.star else replace(found, rivals=(), own=())


def _mean_minutes(benches: Sequence[Bench], each: System, settings: StageConfig) -> float | None:
    """The mean over the seeds of a row's minutes of training."""
    found = [training_minutes(bench, each, settings) for bench in benches]
    known = [minutes for minutes in found if minutes is not None]
    return sum(known) / len(known) if known else None


def _quality(
    found: SystemComparison,
    minutes: Mapping[str, float | None],
    generalisation: bool,
    expected: Mapping[str, Mapping[str, float]],
) -> Reproduction:
    whole = _with_minutes(_with_paper(found.table(), expected, ALL), minutes)
    tables = [whole]
    if generalisation:
        tables = [_with_paper(seen_unseen_table(found), expected), whole]
    groups = list(found.scores[found.reference])
    plotted = PLOTTED_MEASURE if PLOTTED_MEASURE in found.measures else found.measures[0]
    series = {
        group: {name: one[group].means[plotted] for name, one in found.scores.items()}
        for group in groups
        if group != ALL or len(groups) == 1 or not generalisation
    }
    figures = found.as_json() | {"minutes": dict(minutes), "paper": dict(expected)}
    return Reproduction(tables, figures, series, plotted)


def _with_paper(
    table: Table, expected: Mapping[str, Mapping[str, float]], group: str | None = None
) -> Table:
    """Add the paper's figures in columns beside one's own, as far as the table has those.

    Args:
        table: A table whose rows are named like those of `expected`.
        expected: Row → measure → the paper's figure.
        group: Only rows of this group have such figures, where rows are in groups.
    """
    known = [c for c in table.columns if any(c.name in figures for figures in expected.values())]
    if not known:
        return table

    def paper(row: Row) -> list[float | None]:
        own = expected.get(row.label, {}) if row.group in ("", group) else {}
        return [own.get(column.name) for column in known]

    columns = [*table.columns, *(replace(c, name=f"{PAPER}{c.name}") for c in known)]
    rows = [replace(row, values=[*row.values, *paper(row)]) for row in table.rows]
    return replace(table, columns=columns, rows=rows)


def _with_minutes(table: Table, minutes: Mapping[str, float | None]) -> Table:
    """Add a column with the minutes of training, the same for a row in every group of queries."""
    rows = [replace(row, values=[*row.values, minutes[row.label]]) for row in table.rows]
    note = {"minutes": "of training, shared ones too; of fitting, if no training is noted"}
    columns = [*table.columns, Column("minutes", None, 1)]
    return replace(table, columns=columns, rows=rows, notes={**table.notes, **note}, label="row")


def _efficiency(
    bench: Bench, chosen: Rows, title: str, expected: Mapping[str, Mapping[str, float]]
) -> Reproduction:
    costs = measure_each(bench, ((name, *row) for name, row in chosen.items()))
    table = _beside_paper(efficiency_table(costs, title), expected)
    series = {
        f"beam {beam}": {cost.system: cost.milliseconds[beam] for cost in costs} for beam in BEAMS
    }
    return Reproduction([table], to_json(table), series, "milliseconds a query")


def _beside_paper(table: Table, expected: Mapping[str, Mapping[str, float]]) -> Table:
    """Add all of the paper's figures in columns of their own: they are in other units."""
    names = list(dict.fromkeys(name for figures in expected.values() for name in figures))
    columns = [*table.columns, *(Column(f"{PAPER}{name}", None, 2) for name in names)]
    rows = [
        replace(row, values=[*row.values, *map(expected.get(row.label, {}).get, names)])
        for row in table.rows
    ]
    return replace(table, columns=columns, rows=rows)


def _cases(bench: Bench, chosen: Rows, split: str, title: str) -> Reproduction:
    found: dict[str, list[Case]] = {}
    for name, (each, settings) in chosen.items():
        folder, _ = bench.fit(each, settings)
        found[name] = find_cases(each.load(folder), bench.data, split)
    tables = [cases_table(cases, f"{title}, {name}") for name, cases in found.items()]
    figures = {name: [case.as_json() for case in cases] for name, cases in found.items()}
    return Reproduction(tables, {"title": title, "cases": figures}, {})
