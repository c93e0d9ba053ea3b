"""`tsgen split`: the paper's generalisation experiment (Tables 2 and 3) on any data set."""

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

    Example: `tsgen split data/wiki-10k --out half`, then
    `tsgen compare data/wiki-10k --qrels half`
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
