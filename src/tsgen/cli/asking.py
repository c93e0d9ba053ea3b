"""Commands that ask an engine: `search`, `explain`, `why`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tsgen.cli.common import (
    EngineArgument,
    JsonOption,
    results_console,
    stdin_lines,
    typed_text,
    write_json,
)

if TYPE_CHECKING:
    from tsgen.cli.views import Answering
    from tsgen.records import Hit
    from tsgen.retrieve.engine import Engine
    from tsgen.serve.local import SearchRequest
    from tsgen.terms.words import Splitter


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
    > >=, in (…), contains, exists, and, or, not. If you have a `tsgen serve` of the engine running,
    it is asked, and answers at once.

    Example: `tsgen search runs/engine "sodium in white bread" -k 3 --where 'year >= 2020'`
    """
    from tsgen.serve.local import SearchRequest

    queries = stdin_lines("query") if query == "-" else [query.strip()]
    queries = [typed_text(text) for text in queries if text]
    where = where and typed_text(where, "filter")
    asked = SearchRequest(queries, k, beam, where, min_confidence)
    source, splitter, hits_of = _answer(engine, asked)
    from tsgen.cli.views import hits_view
    from tsgen.retrieve.results import hits_json

    found = list(zip(queries, hits_of, strict=True))
    for text, hits in found:
        results_console(json).print(hits_view(source, splitter, text, hits, explain))
    shown = []
    for text, hits in found:
        answers = ((hit, source.document(hit.document_id)) for hit in hits)
        shown.append(hits_json(text, source.correct_query(text), answers, splitter))
    write_json(json, shown)


def _answer(folder: Path, asked: SearchRequest) -> tuple[Answering, Splitter, list[list[Hit]]]:
    """What shows the documents, what splits them into words, and the hits of each query: from a
    running server of the engine, or else from the engine itself."""
    from tsgen.artifact import read_manifest
    from tsgen.serve.local import ask

    if not folder.is_dir():
        read_manifest(folder)  # which says so, before anything that takes long is imported
    from tsgen.settings import WordsConfig
    from tsgen.terms.words import Splitter

    answer = ask(folder, asked)
    if answer is not None:
        return answer, Splitter(WordsConfig.from_mapping(answer.words)), answer.hits
    from tsgen.retrieve.engine import Engine

    opened = Engine.load(folder)
    hits = opened.search(
        asked.queries,
        asked.k,
        beam=asked.beam,
        where=asked.where,
        min_confidence=asked.min_confidence,
    )
    return opened, Splitter(opened.config.terms.words), hits


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
    from tsgen.cli.views import explanation_view
    from tsgen.retrieve.engine import Engine
    from tsgen.retrieve.explain import explain as explain_document

    queries = [typed_text(query) for query in queries]
    opened = Engine.load(engine)
    found = explain_document(opened, document, queries)
    _print_notes(opened, queries, json)
    results_console(json).print(explanation_view(opened, document, found))
    write_json(json, {"document": document, "queries": found})


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
    from tsgen.cli.views import why_view
    from tsgen.retrieve.engine import Engine
    from tsgen.retrieve.explain import why as ask

    query, document = typed_text(query), typed_text(document, "id")
    where = where and typed_text(where, "filter")
    opened = Engine.load(engine)
    found = ask(opened, query, document, k, beam, where, widest)
    _print_notes(opened, [query], json)
    results_console(json).print(why_view(found))
    write_json(json, found)


def _print_notes(opened: Engine, queries: Sequence[str], json: JsonOption) -> None:
    """Say which queries were corrected."""
    from tsgen.cli.views import correction_notes

    for query in queries:
        for line in correction_notes(query, opened.correct_query(query)):
            results_console(json).print(line)


VERBS = (search, explain, why)
