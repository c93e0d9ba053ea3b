"""`tsgen pruned`: where sequences lose the right document and term sets keep it."""

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
    SplitOption,
    TableOption,
    names_in,
    progress,
    report,
    results_console,
    write_json,
)


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

    Example: `tsgen pruned data/wiki-10k --engine runs/engine --plot pruning.png`
    """
    from tsgen.cli.pruned_view import stories_view
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.evaluate.pruned_query import right_document, stories
    from tsgen.evaluate.pruning import count_prunings, judged
    from tsgen.evaluate.schemes import wanted_schemes

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
