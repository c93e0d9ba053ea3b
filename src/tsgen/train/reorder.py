"""Another order of a target's terms each time that its pair is met."""

from collections.abc import Callable

import numpy as np

from tsgen.constrain.constraint import Int32
from tsgen.docids.term_set import TermSets
from tsgen.terms.words import Splitter

Reorder = Callable[[Int32, str, np.random.Generator], Int32]
"""(terms, query, random numbers) → the same terms in the order to learn."""

ANY = 0.25  # how often a query's own terms come where chance puts them


def at_random(terms: Int32, query: str, rng: np.random.Generator) -> Int32:
    """Any order."""
    return rng.permutation(terms)


class QueryFirst:
    """The terms that the query has, by stem, then the others, both at random: a search goes by such
    prefixes, and what must be learned is what to say after them. At times any order."""

    def __init__(self, sets: TermSets, splitter: Splitter | None = None) -> None:
        self._splitter = splitter or Splitter()
        self._keys = [self._splitter.key(term) for term in sets.vocabulary]

    def __call__(self, terms: Int32, query: str, rng: np.random.Generator) -> Int32:
        """The terms of one target."""
        order = rng.permutation(terms)
        if rng.random() < ANY:
            return order
        asked = set(self._splitter.keys(query))
        later = [self._keys[term] not in asked for term in order]
        return order[np.argsort(later, kind="stable")]


def reorder(order: str, sets: TermSets) -> Reorder | None:
    """For a setting `train.order`; None where the order stays as it is."""
    if order == "query":
        return QueryFirst(sets)
    return at_random if order == "random" else None
