"""Hits as plain values, the same on the command line and over HTTP."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence, Set
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
    """The stretch of a text with the most different words of the query, these words marked."""
    return mark(stretch(text, keys, splitter, width), keys, splitter)


def stretch(text: str, keys: Set[str], splitter: Splitter, width: int = 160) -> str:
    """About `width` characters of a text: those with the most different words of the query, the
    first such stretch, on one line; cut between words."""
    text = re.sub(r"\s+", lambda found: " " if "\n" in found[0] else found[0], text)
    places = splitter.places(text, keys)
    matches = _matches(places, width)
    best = max(matches, key=matches.__getitem__)  # the first of equals
    start = max(0, min(best - width // 4, len(text) - width))
    within = {key for s, e, key in places if start <= s and e <= start + width}
    if len(within) < matches[best]:
        start = best
    start = text.rfind(" ", 0, start + 1) + 1 if start else 0
    end = len(text) if len(text) <= start + width else text.rfind(" ", start, start + width + 1)
    end = start + width if end <= start else end
    return "… " * (start > 0) + text[start:end] + " …" * (end < len(text))


def _matches(places: Sequence[tuple[int, int, str]], width: int) -> dict[int, int]:
    """How many different keys there are in the `width` characters after 0 and after the start of
    each place, by start, ascending."""
    coming, leaving = iter(sorted(places, key=lambda place: place[1])), deque(sorted(places))
    inside, matches = Counter[str](), dict[int, int]()  # how often each key is inside
    there, ahead = set[tuple[int, int, str]](), next(coming, None)
    for start in (0, *(start for start, _, _ in tuple(leaving))):
        while ahead is not None and ahead[1] <= start + width:
            if ahead[0] >= start:
                there.add(ahead)
                inside[ahead[2]] += 1
            ahead = next(coming, None)
        while leaving and leaving[0][0] < start:
            gone = leaving.popleft()
            if gone in there:
                inside[gone[2]] -= 1
                if not inside[gone[2]]:
                    del inside[gone[2]]
        matches[start] = len(inside)
    return matches


def nearest_passage(hit: Hit, document: Document) -> Span | None:
    """Where in a document's text the passage is that brought it up; None for a document that is
    read as a whole, or was replaced by a shorter one since the search."""
    if hit.passage is None:
        return None
    found = passages(document.text)
    return found[hit.passage] if hit.passage < len(found) else None


def hit_snippet(hit: Hit, document: Document, keys: Set[str], splitter: Splitter) -> Marked:
    """The snippet of a hit: of a long document, from the passage that is nearest to the query."""
    return snippet(_part(document, nearest_passage(hit, document)), keys, splitter)


def _part(document: Document, place: Span | None) -> str:
    return document.text if place is None else document.text[place.start : place.end]


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
        place = nearest_passage(hit, document)
        shown = stretch(_part(document, place), keys, splitter)
        row |= {"title": document.title, "snippet": shown}
        row |= {"passage": place._asdict()} if place is not None else {}
        row |= {"metadata": document.metadata} if document.metadata else {}
        rows.append(row | ({"reason": hit.reason} if explain else {}))
    read = {"read_as": read_as} if read_as != query else {}
    return {"query": query, **read, "hits": rows}
