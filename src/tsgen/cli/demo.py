"""`tsgen demo`: what there is, on documents that every Python has."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import (
    JsonOption,
    PresetOption,
    console,
    progress,
    results_console,
    write_json,
)


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="For the engine and run files.")
    ] = Path("runs/demo"),
    json: JsonOption = None,
    preset: PresetOption = "demo",
    seed: Annotated[int, typer.Option(help="For all that is trained.")] = 0,
) -> None:
    """Search Python's own documentation: fit an engine on it, compare it with BM25, and ask.

    What was done before is not done again, and an interrupted command goes on from there.

    Example: `tsgen demo --json figures.json`
    """
    from tsgen.cli.demo_tables import introduction, search_view
    from tsgen.corpus.load import load
    from tsgen.evaluate.demo import ENGINE
    from tsgen.evaluate.demo import demo as run_demo
    from tsgen.evaluate.tables import to_rich

    data = load("stdlib:")
    console.print(introduction(data, preset), highlight=False, soft_wrap=True)
    with progress():
        found = run_demo(data, out, preset, seed)
    results = results_console(json)
    results.print(to_rich(found.comparison.table()))
    results.print("\nSearches by tsgen, with the terms it generated (✓ answers the question):\n")
    for search in found.searches:
        results.print(search_view(found.engine, search))
    write_json(json, found.as_json())
    console.print(
        f'Your turn: tsgen search {out / ENGINE} "how do I ..."', highlight=False, soft_wrap=True
    )
