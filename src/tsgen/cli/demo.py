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
        Path, typer.Option(metavar="FOLDER", help="For run files and term sets.")
    ] = Path("runs/demo"),
    json: JsonOption = None,
    preset: PresetOption = "tiny",
    seed: Annotated[int, typer.Option(help="For systems that train.")] = 0,
) -> None:
    """Search Python's own documentation: fit systems on it, compare them, show hits and term sets.

    What was done before is not done again, and an interrupted command goes on from there.

    Example: `tsgen demo --json figures.json`
    """
    from tsgen.cli.demo_tables import introduction, print_search
    from tsgen.corpus.load import load
    from tsgen.evaluate.demo import demo as run_demo
    from tsgen.evaluate.tables import to_rich

    data = load("stdlib:")
    console.print(introduction(data, preset), highlight=False, soft_wrap=True)
    with progress():
        found = run_demo(data, out, preset, seed)
    results = results_console(json)
    results.print(to_rich(found.comparison.table()))
    results.print(f"\nSearches by {found.searcher} (✓ answers), and the first hit's term set:\n")
    for search in found.searches:
        print_search(search, results)
    write_json(json, found.as_json())
    console.print(f"All term sets: tsgen inspect {out / 'terms'}", soft_wrap=True)
