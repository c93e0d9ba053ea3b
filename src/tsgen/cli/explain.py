"""`tsgen explain`: one document, several queries, and the permutation of its terms for each."""

from typing import Annotated

import typer

from tsgen.cli.common import EngineArgument, JsonOption, results_console, write_json


def explain(
    engine: EngineArgument,
    document: Annotated[
        str, typer.Argument(metavar="DOCUMENT", help="Its id, as tsgen search prints it.")
    ],
    queries: Annotated[list[str], typer.Argument(metavar="QUERY…", help="One or more questions.")],
    json: JsonOption = None,
) -> None:
    """Show in which order the model writes a document's terms for each query.

    Every order leads to the document; the model starts with what the query asks for. Words of the
    query are highlighted. Each term has its log p, and each order its likelihood beside that of
    the order by weight.

    Example: `tsgen explain runs/engine doc42 "who wrote Dracula" "novels with vampires"`
    """
    from tsgen.cli.explanations import explanation_view
    from tsgen.retrieve.engine import Engine
    from tsgen.retrieve.explaining import explain as explain_document

    opened = Engine.load(engine)
    found = explain_document(opened, document, queries)
    results_console(json).print(explanation_view(opened, document, found))
    write_json(json, {"document": document, "queries": found})
