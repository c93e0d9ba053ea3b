"""`tsgen compare`: several systems on one data set, in one table."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import (
    CacheOption,
    DataArgument,
    JsonOption,
    LimitOption,
    PresetOption,
    QrelsOption,
    SeedOption,
    SkipBadOption,
    SplitOption,
    TableOption,
    console,
    names_in,
    progress,
    report,
)


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

    Example: `tsgen compare data/wiki-10k --systems bm25 --json figures.json`
    """
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.evaluate.compare import compare as compare_systems
    from tsgen.evaluate.compare import query_groups
    from tsgen.evaluate.compared import compared
    from tsgen.evaluate.generalisation import check_groups

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
