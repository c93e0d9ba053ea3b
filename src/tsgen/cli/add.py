"""`tsgen add`: documents into an engine that is already there."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import DataArgument, JsonOption, SkipBadOption, console, progress

EngineArgument = Annotated[
    Path, typer.Argument(metavar="ENGINE", help="A folder that tsgen fit or index wrote.")
]


def add(
    engine: EngineArgument,
    data: DataArgument,
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Add documents to an engine, or replace those with the same id, without training.

    Their terms come from the weights the engine was made with. The next search finds them. Every
    thousand documents are one change, which is on disk when the next thousand are begun.

    Example: `tsgen add runs/engine new.jsonl`
    """
    from tsgen.cli.changes import report_change
    from tsgen.corpus.load import load
    from tsgen.retrieve.changing import put_all
    from tsgen.retrieve.collection import Collection

    source = load(data, skip_bad=skip_bad)
    with Collection.open(engine) as collection, progress():
        changed = put_all(collection, source.documents())
        report_change(json, collection, added=changed.added, updated=changed.updated)
    if skip_bad:
        console.print(source.problems.summary())
