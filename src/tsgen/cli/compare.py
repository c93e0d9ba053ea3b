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
    SkipBadOption,
    SplitOption,
    TableOption,
    console,
    progress,
    report,
)


def compare(
    data: DataArgument,
    systems: Annotated[
        str,
        typer.Option(help="Names, separated by commas; the others are tested against the first."),
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
    seed: Annotated[int, typer.Option(help="For systems that train.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SYSTEM.KEY=VALUE", help="A setting, e.g. bm25.k1=1.2."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML with a table of settings per system.")
    ] = None,
    preset: PresetOption = "cpu",
    skip_bad: SkipBadOption = False,
) -> None:
    """Fit or load systems, search, and print one table with significance marks.

    What was done before is taken from the cache, and an interrupted command goes on from there.

    Example: `tsgen compare data/wiki-10k --systems bm25 --json figures.json`
    """
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.evaluate.compare import compare as compare_systems

    source = load(data, qrels=qrels, skip_bad=skip_bad)
    with progress():
        result = compare_systems(
            source,
            [name.strip() for name in systems.split(",") if name.strip()],
            split=split,
            limit=limit,
            cache=cache,
            seed=seed,
            configs=read_settings(config, settings or [], preset),
            runs_dir=runs,
            title=f"{source.name}, {qrels}, {split}",
        )
    if skip_bad:
        console.print(source.problems.summary())
    report(result.table(), result.as_json(), json, table)
