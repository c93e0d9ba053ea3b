"""The state of rows that stand between two terms."""

from dataclasses import dataclass

import numpy as np

from tsgen.constrain.constraint import Bool, Int, Int32
from tsgen.constrain.documents import POSTINGS, Documents, Index
from tsgen.constrain.kernel import fixed
from tsgen.constrain.keys import Keys


@dataclass(slots=True)
class SetFrontier:
    """Rows that stand for sets of equal size; rows with the same set share its state.

    V is written down when a row is first continued: most closed rows never are.
    """

    index: Index
    set_of: Int  # [R] row → set
    keys: Keys  # [S, 2]
    documents: Documents
    few: Bool  # [S] whether V is to be written down; else it is among all terms
    listed: Bool  # [S] whether it was
    low: Int  # [S] V is the slice low:high of `ranks`, or of all ranks
    high: Int  # [S]
    ranks: Int32
    skip: bool  # whether tokens without an alternative are passed over

    def write(self, sets: Bool, low: Int, high: Int, ranks: Int32) -> None:
        """Note V of some sets, which are slices low:high of `ranks`."""
        before = self.ranks  # what was listed stays in its place: cursors point there
        self.low[sets] = low + len(before)
        self.high[sets] = high + len(before)
        self.listed |= sets
        joined = np.concatenate((before, ranks)) if len(before) else ranks
        self.ranks = fixed(joined, np.int32)

    def heavy_singles(self) -> Bool:
        """[S] whether the set is a single heavy term, and all its documents are Y."""
        found: Bool = self.documents.form == POSTINGS
        if found.any():  # then the sets are of one term
            found &= self.index.heavy[self.documents.terms[:, 0]] >= 0
        return found
