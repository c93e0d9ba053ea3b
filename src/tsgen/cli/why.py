"""`tsgen why`: why a document was or was not found."""

from typing import Annotated

import typer

from tsgen.cli.common import EngineArgument, JsonOption, results_console, write_json


def why(
    engine: EngineArgument,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question.")],
    document: Annotated[
        str, typer.Argument(metavar="DOCUMENT", help="Its id, as tsgen search prints it.")
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many hits are an answer.")] = 10,
    beam: Annotated[int | None, typer.Option(min=1, help="Default: the engine's setting.")] = None,
    where: Annotated[
        str | None, typer.Option(metavar="FILTER", help="As for tsgen search.")
    ] = None,
    widest: Annotated[int, typer.Option(min=1, help="The widest beam to try.")] = 2048,
    json: JsonOption = None,
) -> None:
    """Say whether a document is found, and if not, where it fell out of the beam.

    Step by step: the place of the best of its hypotheses. Where it fell out: what its own terms
    scored, what scored better, and a beam that would have kept it, verified by searching with it.

    Example: `tsgen why runs/engine "who wrote Dracula" doc42 --beam 10`
    """
    from tsgen.cli.whys import why_view
    from tsgen.retrieve.engine import Engine
    from tsgen.retrieve.why import why as ask

    found = ask(Engine.load(engine), query, document, k, beam, where, widest)
    results_console(json).print(why_view(found))
    write_json(json, found)
