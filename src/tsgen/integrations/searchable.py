"""What every framework is given: hits together with their documents."""

from collections.abc import Iterator
from typing import Any

from tsgen.records import Document, Hit
from tsgen.retrieve.engine import Engine


def answers(
    engine: Engine, query: str, k: int, beam: int | None, where: str | None
) -> Iterator[tuple[Hit, Document]]:
    """The hits of one query, best first, with their documents."""
    for hit in engine.search(query, k, beam=beam, where=where):
        yield hit, engine.document(hit.document_id)


def metadata(hit: Hit, document: Document) -> dict[str, Any]:
    """The fields that a framework keeps beside a text: the document's own metadata, its title, its
    score, and the terms in the order they were generated."""
    terms = list(hit.reason.terms) if hit.reason else []
    return {**document.metadata, "title": document.title, "score": hit.score, "terms": terms}
