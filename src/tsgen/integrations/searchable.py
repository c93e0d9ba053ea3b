"""What the frameworks are given: hits together with their documents."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from tsgen.records import Document, Hit


class Searched(Protocol):
    """What can be searched: a `Collection` or an `Engine`."""

    def search(
        self, queries: Sequence[str], k: int = 10, beam: int | None = None, where: str | None = None
    ) -> list[list[Hit]]:
        """At most `k` hits for each query."""
        ...

    def document(self, document_id: str) -> Document:
        """One document."""
        ...


def answers(
    source: Searched, query: str, k: int, beam: int | None, where: str | None
) -> Iterator[tuple[Hit, Document]]:
    """The hits of one query, best first, with their documents."""
    for hit in source.search([query], k, beam, where)[0]:
        yield hit, source.document(hit.document_id)


def metadata(hit: Hit, document: Document) -> dict[str, Any]:
    """The fields that a framework keeps beside a text: the document's own metadata, its title, its score, and
    the terms in the order they were generated."""
    terms = list(hit.reason.terms) if hit.reason else []
    return {**document.metadata, "title": document.title, "score": hit.score, "terms": terms}
