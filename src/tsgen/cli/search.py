"""`tsgen search`: ask an engine."""

import sys
from typing import Annotated

import typer

from tsgen.cli.common import EngineArgument, JsonOption, results_console, write_json


def search(
    engine: EngineArgument,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="A question; - reads one a line from stdin.")
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many hits.")] = 5,
    beam: Annotated[int | None, typer.Option(min=1, help="Default: the engine's setting.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show log p of each term, and how many documents.")
    ] = False,
    where: Annotated[
        str | None,
        typer.Option(metavar="FILTER", help="""Only documents like: 'lang = "en" and year > 9'."""),
    ] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Find nothing if less sure; see tsgen calibrate."),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Print the best documents, each with the permutation of its terms that led to it.

    Words of the query are highlighted. --where filters by metadata before the first step: = != < <=
    > >=, in (…), contains, exists, and, or, not.

    Example: `tsgen search runs/engine "sodium in white bread" -k 3 --where 'year >= 2020'`
    """
    from tsgen.cli.hits import hits_view
    from tsgen.retrieve.engine import Engine
    from tsgen.retrieve.shown import hits_json
    from tsgen.terms.words import Splitter

    queries = [line.strip() for line in sys.stdin] if query == "-" else [query]
    queries = [text for text in queries if text]
    opened = Engine.load(engine)
    hits_of = opened.search(queries, k, beam, where, min_confidence)
    found = list(zip(queries, hits_of, strict=True))
    for text, hits in found:
        results_console(json).print(hits_view(opened, text, hits, explain))
    splitter = Splitter(opened.config.terms.words)
    shown = []
    for text, hits in found:
        answers = ((hit, opened.document(hit.document_id)) for hit in hits)
        shown.append(hits_json(text, opened.read(text), answers, splitter))
    write_json(json, shown)
