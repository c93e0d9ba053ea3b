"""Commands that measure: `compare`, `evaluate`, `calibrate`, `reproduce`, `pruned`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tsgen.cli.common import (
    CacheOption,
    DataArgument,
    EngineArgument,
    JsonOption,
    LimitOption,
    PresetOption,
    QrelsOption,
    SeedOption,
    SetOption,
    SkipBadOption,
    SplitOption,
    TableOption,
    console,
    names_in,
    numbers_in,
    progress,
    report,
    results_console,
    write_json,
)


def evaluate(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|ENGINE",
            help="A run file (TREC or MS MARCO) or the folder of a saved retriever.",
            show_default=False,
        ),
    ],
    data: DataArgument,
    split: SplitOption = "test",
    qrels: QrelsOption = "qrels",
    limit: LimitOption = None,
    json: JsonOption = None,
    table: TableOption = None,
    skip_bad: SkipBadOption = False,
) -> None:
    """Print a ranking's figures: all queries, and those seen and unseen in training.

    Example: `tsgen evaluate runs/bm25.trec stdlib: --json figures.json`
    """
    from tsgen.corpus.load import load
    from tsgen.evaluate.evaluation import evaluate_source
    from tsgen.evaluate.tables import to_json

    judged = load(data, qrels=qrels, skip_bad=skip_bad)
    title = f"{judged.name}, {qrels}, {split}"
    with progress():
        result = evaluate_source(source, judged, split=split, limit=limit, title=title)
    if skip_bad:
        console.print(judged.problems.summary())
    report(result, to_json(result), json, table)


def compare(
    data: DataArgument,
    systems: Annotated[
        str,
        typer.Option(
            help="Names, separated by commas, or `all`; the others are tested against the first."
        ),
    ] = "bm25",
    split: SplitOption = "test",
    qrels: QrelsOption = "qrels",
    limit: LimitOption = None,
    json: JsonOption = None,
    table: TableOption = None,
    runs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a TREC run file for each system.")
    ] = None,
    cache: CacheOption = None,
    seed: SeedOption = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SYSTEM.KEY=VALUE", help="A setting, e.g. bm25.k1=1.2."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML with a table of settings per system.")
    ] = None,
    preset: PresetOption = "cpu",
    minutes: Annotated[
        float | None,
        typer.Option(help="Train each system that trains for so long, whatever its epochs.", min=0),
    ] = None,
    seen_unseen: Annotated[
        bool, typer.Option("--seen-unseen", help="Also seen and unseen queries side by side.")
    ] = False,
    efficiency: Annotated[
        bool, typer.Option("--efficiency", help="Also time per query and bytes per document.")
    ] = False,
    skip_bad: SkipBadOption = False,
) -> None:
    """Fit or load systems, search, and print one table with significance marks.

    What was done before is taken from the cache, and an interrupted command goes on from there.

    Example: `tsgen compare stdlib: --systems bm25 --json figures.json`
    """
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.evaluate.compare import check_groups, compared, query_groups
    from tsgen.evaluate.compare import compare as compare_systems

    source = load(data, qrels=qrels, skip_bad=skip_bad)
    title = f"{source.name}, {qrels}, {split}"
    if seen_unseen:
        check_groups(query_groups(source, split), title)
    with progress():
        result = compare_systems(
            source,
            names_in(systems),
            split=split,
            limit=limit,
            cache=cache,
            seed=seed,
            configs=read_settings(config, settings or [], preset),
            runs_dir=runs,
            title=title,
            minutes=minutes,
            efficiency=efficiency,
        )
    if skip_bad:
        console.print(source.problems.summary())
    tables, figures = compared(result, seen_unseen)
    report(tables, figures, json, table)


DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Only say what would be done and what it costs; without --data, for the paper's.",
    ),
]


def reproduce(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="table1 to table7, hybrid, recipe, or a TOML file."),
    ],
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="As for tsgen compare.", show_default=False)
    ] = None,
    form: Annotated[
        str, typer.Option(help="cpu: hours on two cores. paper: T5-base, for a GPU.")
    ] = "cpu",
    rows: Annotated[str, typer.Option(help="Only these, separated by commas.")] = "",
    out: Annotated[Path, typer.Option(help="Where the results go.")] = Path("docs/results"),
    split: SplitOption = "test",
    qrels: QrelsOption = "qrels",
    limit: LimitOption = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Train each row for so long, whatever its epochs.")
    ] = None,
    seeds: Annotated[
        str, typer.Option(help="Fit each row for each seed, e.g. 0,1,2; figures are means.")
    ] = "0",
    settings: SetOption = None,
    measures: Annotated[
        str, typer.Option(help="Of the tables, e.g. M@10,R@100. Default: the experiment's.")
    ] = "",
    known_as: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="The paper's name of DATA, e.g. NQ320K."),
    ] = None,
    shards: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Of seen.ids and unseen.ids, for Tables 2 and 3."),
    ] = None,
    dry_run: DryRunOption = False,
    tflops: Annotated[
        float, typer.Option(min=0.001, help="Of the GPU, sustained: for --dry-run.")
    ] = 100.0,
    json: JsonOption = None,
    cache: CacheOption = None,
) -> None:
    """Fit and evaluate every row of a table; write JSON, Markdown and a plot.

    What another table has trained is not trained again, and an interrupted command goes on.

    Example: `tsgen reproduce table6 --data stdlib: --rows "term set,as a sequence"`
    """
    from tsgen import parallel as processes
    from tsgen.cli.publishing import publish_experiment
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.errors import ConfigError
    from tsgen.evaluate.experiment import read_experiment
    from tsgen.evaluate.reproduce import dry_run as plan_of
    from tsgen.evaluate.reproduce import reproduce as run

    experiment = read_experiment(name)
    source = None if data is None else load(data, qrels=qrels)
    over = read_settings(None, settings or [])
    given: dict[str, Any] = {"form": form, "split": split, "minutes": minutes, "known_as": known_as}
    given |= {"rows": names_in(rows), "seeds": numbers_in(seeds), "settings": over, "cache": cache}
    given |= {"shards": shards}
    if dry_run:
        found = plan_of(experiment, source, tflops=tflops, **given)
        report([found.table(), found.stage_table()], found.as_json(), json, None)
        return
    if source is None:
        raise ConfigError(
            "no --data; expected a data folder or file, irds:NAME, hf:NAME or stdlib:"
        )
    with progress():
        given |= {"limit": limit, "measures": names_in(measures)}
        done = run(experiment, source, **given)
    if processes.rank():  # of several processes the first one writes
        return
    write_json(json, done.figures)
    told: dict[str, Any] = {"form": form, "split": split, "limit": limit, "minutes": minutes}
    told |= {"seeds": seeds, "rows": rows, "as": known_as, "shards": shards and shards.name}
    told |= {"qrels": Path(qrels).name, "measures": measures, "set": settings or []}
    publish_experiment(out, name, source.name, done, told)


def calibrate(
    engine: EngineArgument,
    data: DataArgument,
    split: Annotated[
        str, typer.Option(help="The judgments to fit on; not those of train.")
    ] = "dev",
    check: Annotated[
        str | None, typer.Option(metavar="SPLIT", help="Report on these judgments, too.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Reliability plot, .png or .svg.")
    ] = None,
    qrels: QrelsOption = "qrels",
    limit: LimitOption = None,
    json: JsonOption = None,
    table: TableOption = None,
) -> None:
    """Fit the probability that the first hit is right, and keep it in the engine.

    Hits then carry a confidence, and `tsgen search --min-confidence .5` may find nothing.

    Example: `tsgen calibrate runs/engine stdlib: --split dev --check test --plot sure.png`
    """
    from tsgen.corpus.load import load
    from tsgen.evaluate.calibration import calibrate as fit_confidence

    with progress():
        found = fit_confidence(
            engine, load(data, qrels=qrels), split=split, check=check, limit=limit
        )
    if plot is not None:
        found.plot(plot)
    report(found.table(), found.as_json(), json, table)


def pruned(
    data: DataArgument,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="One of DATA's, or any with --document.")
    ] = None,
    document: Annotated[
        str | None, typer.Option(metavar="ID", help="The right one. Default: as judged.")
    ] = None,
    engine: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="What tsgen fit or index wrote, in place of tsgen."),
    ] = None,
    systems: Annotated[
        str, typer.Option(help="Names, separated by commas: fitted or from the cache.")
    ] = "tsgen",
    beam: Annotated[int | None, typer.Option(min=1, help="Default: each system's setting.")] = None,
    split: SplitOption = "test",
    qrels: QrelsOption = "qrels",
    limit: LimitOption = None,
    json: JsonOption = None,
    table: TableOption = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Losses step by step, .png or .svg.")
    ] = None,
    cache: CacheOption = None,
    seed: SeedOption = 0,
    preset: PresetOption = "cpu",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SYSTEM.KEY=VALUE", help="A setting, e.g. train.epochs=3."),
    ] = None,
) -> None:
    """Show at which step the beam loses the right document, or count that over a test set.

    The same model writes the same terms twice: as a set, in any order, and as a sequence, heaviest
    first. Without a QUERY all queries of the split are counted.

    Example: `tsgen pruned stdlib: --engine runs/engine --plot pruning.png`
    """
    from tsgen.cli.views import stories_view
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.evaluate.pruning import (
        count_prunings,
        judged,
        right_document,
        stories,
        wanted_schemes,
    )

    source = load(data, qrels=qrels)
    with progress():
        tables = read_settings(None, settings or [], preset)
        schemes = wanted_schemes(source, engine, names_in(systems), tables, beam, seed, cache)
        if query is not None:
            told = stories(schemes, query, document or right_document(source, query))
            results_console(json).print(stories_view(told))
            write_json(json, told)
            return
        counts = count_prunings(
            f"{source.name}, {split}: false pruning", schemes, judged(source, split, limit)
        )
    report(counts.table(), counts.as_json(), json, table)
    if plot is not None:
        counts.plot(plot)


VERBS = (compare, evaluate, calibrate, reproduce, pruned)
