"""Commands that show what is there: `data`, `split`, `inspect`."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import (
    DataArgument,
    JsonOption,
    QrelsOption,
    SkipBadOption,
    console,
    progress,
    results_console,
    write_json,
)

# A data report on the terminal.


# `tsgen data`: what is in a data set, and what is wrong with it.


def data(
    data: DataArgument,
    qrels: QrelsOption = "qrels",
    json: JsonOption = None,
    skip_bad: SkipBadOption = False,
) -> None:
    """Print documents, queries, judgments per split, lengths, samples, and every problem found.

    Exits with 1 if there are problems, unless they are to be skipped.

    Example: `tsgen data stdlib: --json -`
    """
    from tsgen.cli.views import print_report
    from tsgen.corpus.describe import describe
    from tsgen.corpus.load import load
    from tsgen.progress import reporting

    with progress() as show, reporting(show):
        report = describe(load(data, qrels=qrels, skip_bad=True))
    print_report(report, results_console(json))
    write_json(json, report)
    if report.problems and not skip_bad:
        raise typer.Exit(1)


# `tsgen split`: the paper's generalisation experiment (Tables 2 and 3) on any data set.


def split(
    data: DataArgument,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the judgments go.")],
    fraction: Annotated[
        float, typer.Option(help="The share of documents that keep their training queries.")
    ] = 0.5,
    seed: Annotated[int, typer.Option(help="Chooses the documents.")] = 0,
    qrels: QrelsOption = "qrels",
    json: JsonOption = None,
    skip_bad: SkipBadOption = False,
) -> None:
    """Remove the training queries of half of the documents: these are unseen in training.

    Example: `tsgen split stdlib: --out half`, then
    `tsgen compare stdlib: --qrels half`
    """
    from tsgen.corpus.load import load
    from tsgen.corpus.splits import split_documents
    from tsgen.progress import reporting

    source = load(data, qrels=qrels, skip_bad=skip_bad)
    with progress() as show, reporting(show):
        report = split_documents(source, out, fraction=fraction, seed=seed)
    if skip_bad:
        console.print(source.problems.summary())
    results_console(json).print(report.summary(), highlight=False, soft_wrap=True)
    write_json(json, report)


# An audit on the terminal.


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
    from tsgen.cli.views import audit_table
    from tsgen.retrieve.engine_audit import audit_folder

    found = audit_folder(folder, tokenizer)
    results_console(json).print(audit_table(found))
    write_json(json, found)
    if plot is not None:
        from tsgen.evaluate.plots import frequency_plot
        from tsgen.retrieve.engine_audit import frequencies_of

        title = f"{folder.resolve().name}: {found.weights}, N = {found.n}"
        frequency_plot(plot, {"terms": frequencies_of(folder)}, title=title)
    if found.unreachable or found.problems:
        raise typer.Exit(1)


VERBS = (data, split, inspect)
