"""What to show of a hit: the stretch of its text with most of the query's words, marked."""

import re
from collections.abc import Set
from dataclasses import dataclass

from tsgen.terms.words import Splitter

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
    words = splitter.split(text)
    return Marked(text, tuple((w.start, w.end) for w in words if splitter.key(w.text) in keys))


def snippet(text: str, keys: Set[str], splitter: Splitter, width: int = 160) -> Marked:
    """About `width` characters of a text: those with the most different words of the query, the
    first such stretch, on one line; cut between words."""
    text = re.sub(r"\s*\n\s*", " ", text)
    words = splitter.split(text)
    wanted = [(w.start, w.end, key) for w in words if (key := splitter.key(w.text)) in keys]
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
