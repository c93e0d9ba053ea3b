"""`tsgen inspect`: the audit of a folder of term sets, or of an engine."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import JsonOption, results_console, write_json


def inspect(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="What tsgen terms, fit or index wrote."),
    ],
    tokenizer: Annotated[
        str, typer.Option(help="A tokenizer.json, a folder with one, or a hub name.")
    ] = "minilm",
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot the term frequencies (.png, .svg).")
    ] = None,
    json: JsonOption = None,
) -> None:
    """Check that every document can be reached by its terms and only it, and print the figures.

    An engine is checked as it is now, with its files and what was added and removed since. Exits
    with 1 if a document is unreachable or a file damaged.

    Example: `tsgen inspect runs/wiki-terms --json - --plot frequencies.png`
    """
    from tsgen.cli.audit_table import audit_table
    from tsgen.retrieve.auditing import audit_folder

    found = audit_folder(folder, tokenizer)
    results_console(json).print(audit_table(found))
    write_json(json, found)
    if plot is not None:
        from tsgen.evaluate.plots import frequency_plot
        from tsgen.retrieve.auditing import frequencies_of

        title = f"{folder.resolve().name}: {found.weights}, N = {found.n}"
        frequency_plot(plot, {"terms": frequencies_of(folder)}, title=title)
    if found.unreachable or found.problems:
        raise typer.Exit(1)
