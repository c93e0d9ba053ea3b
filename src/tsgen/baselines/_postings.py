"""Exact sparse search: a matrix of the terms' weights in the documents, one product a query."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import orjson
from scipy import sparse

from tsgen.queries.lexical import top_documents
from tsgen.records import Hit

IDS, POSTINGS = "ids.json", "postings.npz"


@dataclass(frozen=True, slots=True)
class Postings:
    """The documents' ids and the weights of terms in them."""

    ids: Sequence[str]
    weights: sparse.csr_array  # [terms, documents]

    def best(self, terms: Sequence[int], weights: Sequence[float], k: int) -> list[Hit]:
        """The `k` documents of the highest Σ w^Q · w^D > 0 over a query's terms, ties in document
        order."""
        if not terms:
            return []
        scores = np.asarray(weights, np.float32) @ self.weights[list(terms)]  # [documents]
        return [Hit(self.ids[i], float(scores[i])) for i in top_documents(scores, k)]

    def save(self, folder: Path) -> None:
        """Write both."""
        (folder / IDS).write_bytes(orjson.dumps(self.ids))
        sparse.save_npz(folder / POSTINGS, self.weights, compressed=False)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open what `save` wrote."""
        ids = orjson.loads((folder / IDS).read_bytes())
        return cls(ids, sparse.csr_array(sparse.load_npz(folder / POSTINGS)))
