"""Hits as plain values, the same on the command line and over HTTP."""

from collections.abc import Iterable
from typing import Any

from tsgen.records import Document, Hit
from tsgen.retrieve.snippet import query_keys, snippet
from tsgen.terms.words import Splitter


def hits_json(
    query: str,
    read_as: str,
    answers: Iterable[tuple[Hit, Document]],
    splitter: Splitter,
    explain: bool = True,
) -> dict[str, Any]:
    """A query, how it was read where that differs, and its hits with titles and snippets of their
    documents; `explain` adds reasons."""
    keys = query_keys(read_as, splitter)
    rows = []
    for hit, document in answers:
        row: dict[str, Any] = {"document": hit.document_id, "score": hit.score}
        row |= {"confidence": hit.confidence} if hit.confidence is not None else {}
        row |= {"title": document.title, "snippet": snippet(document.text, keys, splitter).text}
        row |= {"metadata": document.metadata} if document.metadata else {}
        rows.append(row | ({"reason": hit.reason} if explain else {}))
    read = {"read_as": read_as} if read_as != query else {}
    return {"query": query, **read, "hits": rows}
