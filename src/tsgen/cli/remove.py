"""`tsgen remove`: documents out of an engine."""

import sys
from typing import Annotated

import typer

from tsgen.cli.common import EngineArgument, JsonOption


def remove(
    engine: EngineArgument,
    ids: Annotated[
        list[str], typer.Argument(metavar="ID…", help="As tsgen search prints them; - reads stdin.")
    ],
    json: JsonOption = None,
) -> None:
    """Remove documents from an engine; the next search no longer finds them.

    All of them go at once; if the engine does not have one of the ids, none does. Their texts are
    on disk until `tsgen compact`.

    Example: `tsgen remove runs/engine doc42 doc43`
    """
    from tsgen.cli.changes import report_change
    from tsgen.retrieve.collection import Collection

    wanted = [line.strip() for line in sys.stdin if line.strip()] if ids == ["-"] else ids
    with Collection.open(engine) as collection:
        report_change(json, collection, removed=collection.remove(wanted))
