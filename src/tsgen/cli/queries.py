"""`tsgen queries`: synthetic queries for every document."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import (
    CacheOption,
    DataArgument,
    JsonOption,
    PresetOption,
    QrelsOption,
    SetOption,
    SkipBadOption,
    console,
    progress,
    report,
)


def queries(
    data: DataArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSONL, for `tsgen fit --queries`.")],
    n: Annotated[
        int | None, typer.Option("-n", "--n", help="Queries to write a document; default 10.")
    ] = None,
    writer: Annotated[
        str | None,
        typer.Option(help="extractive, local, doct5query or smollm2; default extractive."),
    ] = None,
    keep_top: Annotated[
        int | None,
        typer.Option(metavar="K", help="Keep queries that find their document among K first."),
    ] = None,
    finder: Annotated[
        str | None, typer.Option(help="What must find it: bm25 or minilm; default bm25.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal queries.")] = 0,
    settings: SetOption = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML with a table [queries].")
    ] = None,
    preset: PresetOption = "cpu",
    cache: CacheOption = None,
    qrels: QrelsOption = "qrels",
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Write queries that people might ask, drop duplicates, keep those that find their document.

    What was done before is not done again, and an interrupted command goes on from there.

    Example: `tsgen queries data/wiki-10k --out queries.jsonl -n 10 --writer local --keep-top 20`
    """
    from tsgen.config import read_settings
    from tsgen.corpus.dataset import cache_folder_of
    from tsgen.corpus.load import load
    from tsgen.evaluate.written import counts_table
    from tsgen.write.stage import copy_queries, counts, make_queries, queries_config

    options = {"writer": writer, "n": n, "keep_top": keep_top, "finder": finder}
    flags = [f"queries.{name}={value}" for name, value in options.items() if value is not None]
    chosen = queries_config(read_settings(config, [*(settings or []), *flags], preset))
    source = load(data, qrels=qrels, skip_bad=skip_bad)
    with progress():
        folder = make_queries(source, chosen, seed, cache_folder_of(source, cache))
    copy_queries(folder, out)
    if skip_bad:
        console.print(source.problems.summary())
    report(counts_table(source.name, chosen, counts(folder)), counts(folder), json, None)
    console.print(f"The queries are in {out}: tsgen fit {data} --queries {out} --out ENGINE")
