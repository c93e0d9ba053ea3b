"""V of single heavy terms, kept from query to query.

Whatever is asked, some of the first terms are frequent ones. To list what may come after such a
term is to go through a large share of all documents, and gives the same list each time.
"""

from threading import Lock

import numpy as np

from tsgen.constrain.constraint import Bool, Int, Int32, Ragged, spans
from tsgen.constrain.frontier import SetFrontier

MOST = 2**24  # entries of all lists together: 64 MB


class Remembered:
    """Lists by term, as many as there is room for."""

    def __init__(self, terms: int) -> None:
        self._place = np.full(terms, -1, dtype=np.int32)  # of each term's list, or -1
        self._lists = Ragged(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32))
        self._adding = Lock()  # readers need none: a list is there before its place is known

    def has(self, terms: Int32) -> Bool:
        """[C] whether the term's list is known."""
        known: Bool = self._place[terms] >= 0
        return known

    def take(self, terms: Int32) -> Ragged:
        """The lists of these terms, all of them known."""
        return self._lists.take(self._place[terms].astype(np.int64))

    def known(self, frontier: SetFrontier, singles: Bool) -> Bool:
        """[S] of these sets of a single term those whose V was listed for an earlier query."""
        found = singles.copy()
        if found.any():
            found[found] = self.has(frontier.documents.terms[found, 0])
        return found

    def keep(self, frontier: SetFrontier, new: Int) -> None:
        """Keep what was just listed for these sets of a single term."""
        if len(new):
            low, high = frontier.low[new], frontier.high[new]
            self.add(frontier.documents.terms[new, 0], spans(frontier.ranks, low, high - low))

    def add(self, terms: Int32, lists: Ragged) -> None:
        """Keep the lists of these terms, all of them new, unless there is no more room."""
        with self._adding:
            before = self._lists
            if len(before.values) + len(lists.values) > MOST:
                return
            offsets: Int = np.concatenate((before.offsets, before.offsets[-1] + lists.offsets[1:]))
            self._lists = Ragged(offsets, np.concatenate((before.values, lists.values)))
            self._place[terms] = len(before.offsets) - 1 + np.arange(len(terms), dtype=np.int32)
