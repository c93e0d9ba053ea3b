"""`tsgen data`: what is in a data set, and what is wrong with it."""

import typer

from tsgen.cli.common import (
    DataArgument,
    JsonOption,
    QrelsOption,
    SkipBadOption,
    progress,
    results_console,
    write_json,
)


def data(
    data: DataArgument,
    qrels: QrelsOption = "qrels",
    json: JsonOption = None,
    skip_bad: SkipBadOption = False,
) -> None:
    """Print documents, queries, judgments per split, lengths, samples, and every problem found.

    Exits with 1 if there are problems, unless they are to be skipped.

    Example: `tsgen data data/wiki-10k --json -`
    """
    from tsgen.cli.data_tables import print_report
    from tsgen.corpus.describe import describe
    from tsgen.corpus.load import load
    from tsgen.progress import reporting

    with progress() as show, reporting(show):
        report = describe(load(data, qrels=qrels, skip_bad=True))
    print_report(report, results_console(json))
    write_json(json, report)
    if report.problems and not skip_bad:
        raise typer.Exit(1)
