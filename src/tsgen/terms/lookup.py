"""Which terms the words of a query are: those with the same key, however they are spelled."""

from collections.abc import Iterable
from copy import copy

from tsgen.terms.words import Splitter


class Lookup:
    """The spellings of terms by their key."""

    def __init__(self, splitter: Splitter, terms: Iterable[str]) -> None:
        self._splitter = splitter
        self._known, self._more = self._by_key(terms), dict[str, list[str]]()

    def __call__(self, query: str) -> list[str]:
        """The terms that are words of a query, each once."""
        return [term for key in self._splitter.keys(query) for term in self._terms(key)]

    def with_terms(self, terms: Iterable[str]) -> "Lookup":
        """With more terms in place of those that were added before; nothing is copied."""
        grown = copy(self)
        grown._more = self._by_key(terms)
        return grown

    def _terms(self, key: str) -> list[str]:
        return self._known.get(key, []) + self._more.get(key, [])

    def _by_key(self, terms: Iterable[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for term in terms:
            found.setdefault(self._splitter.key(term), []).append(term)
        return found
