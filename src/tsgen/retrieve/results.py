"""Hits as plain values, the same on the command line and over HTTP."""

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Any

from tsgen.records import Document, Hit
from tsgen.terms.passages import Span, passages
from tsgen.terms.words import Splitter

# What to show of a hit: the stretch of its text with most of the query's words, marked.

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Marked:
    """A text, and the spans of it (start, end) that are words of the query."""

    text: str
    spans: Spans


def query_keys(query: str, splitter: Splitter) -> frozenset[str]:
    """The stems of a query's words."""
    return frozenset(splitter.keys(query))


def mark(text: str, keys: Set[str], splitter: Splitter) -> Marked:
    """The whole text with the words of these stems marked."""
    return Marked(text, tuple((start, end) for start, end, _ in splitter.places(text, keys)))


def snippet(text: str, keys: Set[str], splitter: Splitter, width: int = 160) -> Marked:
    """About `width` characters of a text: those with the most different words of the query, the
    first such stretch, on one line; cut between words."""
    text = re.sub(r"\s*\n\s*", " ", text)
    wanted = splitter.places(text, keys)
    starts = [0, *(start for start, _, _ in wanted)]

    def matches(start: int) -> int:
        return len({key for s, e, key in wanted if start <= s and e <= start + width})

    best = max(starts, key=matches)  # the first of equals
    start = max(0, min(best - width // 4, len(text) - width))
    if matches(start) < matches(best):
        start = best
    start = text.rfind(" ", 0, start + 1) + 1 if start else 0
    end = len(text) if len(text) <= start + width else text.rfind(" ", start, start + width + 1)
    end = start + width if end <= start else end
    before, after = "… " * (start > 0), " …" * (end < len(text))
    return mark(before + text[start:end] + after, keys, splitter)


def nearest_passage(hit: Hit, document: Document) -> Span | None:
    """Where in a document's text the passage is that brought it up; None for a document that is
    read as a whole, or was replaced by a shorter one since the search."""
    if hit.passage is None:
        return None
    found = passages(document.text)
    return found[hit.passage] if hit.passage < len(found) else None


def hit_snippet(hit: Hit, document: Document, keys: Set[str], splitter: Splitter) -> Marked:
    """The snippet of a hit: of a long document, from the passage that is nearest to the query."""
    place = nearest_passage(hit, document)
    text = document.text if place is None else document.text[place.start : place.end]
    return snippet(text, keys, splitter)


def hits_json(
    query: str,
    read_as: str,
    answers: Iterable[tuple[Hit, Document]],
    splitter: Splitter,
    explain: bool = True,
) -> dict[str, Any]:
    """A query, how it was read where that differs, and its hits with titles and snippets of their
    documents, of long documents with the place of the nearest passage; `explain` adds reasons."""
    keys = query_keys(read_as, splitter)
    rows = []
    for hit, document in answers:
        row: dict[str, Any] = {"document": hit.document_id, "score": hit.score}
        row |= {"confidence": hit.confidence} if hit.confidence is not None else {}
        shown = hit_snippet(hit, document, keys, splitter).text
        row |= {"title": document.title, "snippet": shown}
        place = nearest_passage(hit, document)
        row |= {"passage": place._asdict()} if place is not None else {}
        row |= {"metadata": document.metadata} if document.metadata else {}
        rows.append(row | ({"reason": hit.reason} if explain else {}))
    read = {"read_as": read_as} if read_as != query else {}
    return {"query": query, **read, "hits": rows}
