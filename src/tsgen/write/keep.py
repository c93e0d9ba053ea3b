"""Which of the written queries are worth learning from: no duplicates, and found again."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from tsgen.write.round_trip import Finder

_words = re.compile(r"\w+").findall


@dataclass(frozen=True, slots=True)
class Kept:
    """A document's queries that stayed, and how many of those written did not."""

    document: str
    queries: Sequence[str]
    written: int
    duplicates: int  # the same words as another query, of this document, of one before, of the set
    filtered: int  # their document was not found with them


def normalise(text: str) -> str:
    """What makes two queries the same: their words, whatever the case and punctuation."""
    return " ".join(_words(text.casefold()))


def choose(
    rows: Sequence[tuple[str, Sequence[str]]],
    first: int,
    own: Set[str],
    finder: Finder | None,
    k: int,
) -> list[Kept]:
    """What stays of each (document id, queries); `first` is the first document's position, `own`
    the normalised queries of the data set itself."""
    fresh = [_distinct(queries, own) for _, queries in rows]
    flat = [(query, first + i) for i, queries in enumerate(fresh) for query in queries]
    found = _found(flat, finder, k)
    kept = []
    for i, (document, written) in enumerate(rows):
        stay = [query for query in fresh[i] if (query, first + i) in found]
        duplicates, filtered = len(written) - len(fresh[i]), len(fresh[i]) - len(stay)
        kept.append(Kept(document, stay, len(written), duplicates, filtered))
    return kept


def once(rows: Iterable[Kept]) -> Iterator[Kept]:
    """Each query with the first document that it was kept for."""
    seen: set[str] = set()
    for row in rows:
        stay = _distinct(row.queries, seen)
        seen.update(map(normalise, stay))
        dropped = len(row.queries) - len(stay)
        yield replace(row, queries=stay, duplicates=row.duplicates + dropped)


def _distinct(queries: Iterable[str], known: Set[str]) -> list[str]:
    """The first query of each normal form; those of no words or of a known form are left out."""
    forms: dict[str, str] = {}
    for query in queries:
        forms.setdefault(normalise(query), query)
    return [query for form, query in forms.items() if form and form not in known]


def _found(pairs: Sequence[tuple[str, int]], finder: Finder | None, k: int) -> Set[tuple[str, int]]:
    """The pairs of query and document position that survive the round trip."""
    if finder is None or not pairs:
        return set(pairs)
    queries, documents = zip(*pairs, strict=True)
    return {pair for pair, ok in zip(pairs, finder.finds(queries, documents, k), strict=True) if ok}
