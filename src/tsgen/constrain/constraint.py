"""What may come next. One protocol for term sets (postings) and sequences (trie).

A *unit* is what hypotheses compete in: a term of a set, or a token of a sequence. A unit is spelled
by one or more tokens, and spellings are prefix-free (a term ends with its terminator), so the last
token of a spelling closes the unit.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths: row r is `values[offsets[r]:offsets[r + 1]]` (CSR)."""

    offsets: Int
    values: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Allowed:
    """The tokens each row may continue with, as CSR, and which of them close the current unit."""

    offsets: Int  # [R + 1]
    tokens: NDArray[np.int32]  # [E] ascending within a row
    closes: NDArray[np.bool_]  # [E]


class Constraint(Protocol):
    """Keeps every prefix one that leads to a document. States are opaque, with R rows each."""

    def start(self, batch: int, pool: Ragged | None = None) -> Any:
        """The state of `batch` empty prefixes; `pool` limits each to some documents (sorted)."""
        ...

    def allowed(self, state: Any) -> Allowed:
        """What may come next in every row."""
        ...

    def advance(self, state: Any, parents: Int, entries: Int) -> Any:
        """New rows: row `parents[i]` continued by entry `entries[i]` of its `allowed` list
        (an index into the flat `tokens`)."""
        ...

    def keys(self, state: Any) -> NDArray[np.uint64]:
        """[R, 2] a hash of what each row has generated: equal for equal sets in any order."""
        ...

    def completed(self, state: Any) -> Ragged:
        """For each row the documents whose identifier is exactly what was generated."""
        ...

    def valid(self, state: Any) -> Int:
        """[R] the number of documents still reachable, |Y|."""
        ...
