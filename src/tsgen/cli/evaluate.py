"""`tsgen evaluate`: figures for a run file or a saved retriever."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import (
    DataArgument,
    JsonOption,
    LimitOption,
    QrelsOption,
    SkipBadOption,
    SplitOption,
    TableOption,
    console,
    progress,
    report,
)


def evaluate(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|ENGINE",
            help="A run file (TREC or MS MARCO) or the folder of a saved retriever.",
            show_default=False,
        ),
    ],
    data: DataArgument,
    split: SplitOption = "test",
    qrels: QrelsOption = "qrels",
    limit: LimitOption = None,
    json: JsonOption = None,
    table: TableOption = None,
    skip_bad: SkipBadOption = False,
) -> None:
    """Print a ranking's figures: all queries, and those seen and unseen in training.

    Example: `tsgen evaluate runs/bm25.trec data/wiki-10k --json figures.json`
    """
    from tsgen.corpus.load import load
    from tsgen.evaluate.source import evaluate_source
    from tsgen.evaluate.tables import to_json

    judged = load(data, qrels=qrels, skip_bad=skip_bad)
    title = f"{judged.name}, {qrels}, {split}"
    with progress():
        result = evaluate_source(source, judged, split=split, limit=limit, title=title)
    if skip_bad:
        console.print(judged.problems.summary())
    report(result, to_json(result), json, table)
