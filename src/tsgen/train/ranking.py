"""A loss that orders documents, beside that of their terms.

What is found is put in order by how much a document means what the query is after (see
`decode.rescore`). That can be learned as such: among the documents D' of a batch and some others

    L = −Σ_D τ(D) log ( m(Q, D)^λ / Σ_{D'} m(Q, D')^λ ),

    m(Q, D) = Σ_{t ∈ T(D)} ŵ_D(t) p(t | Q)^{1/u},

each m^λ times e^{μ o(Q, D)} where the query's own words count, too (see `decode.overlap`). τ is 1
for the document that answers the query; or, in part, what a teacher says of it and of some others
(see `mistaken`). It takes no more than the first step's scores, which the loss of the terms needs
anyway.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tsgen.constrain.constraint import Int, spans
from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.overlap import overlaps
from tsgen.decode.rescore import FLATTENED


class Ranking:
    """The loss of a batch."""

    def __init__(
        self,
        constraint: PostingsConstraint,
        weight: float,
        distil: float = 0.0,
        overlap: float = 0.0,
    ) -> None:
        """`weight` is λ, `distil` the teacher's part in τ, `overlap` is μ."""
        self._constraint, self._weight = constraint, weight
        self._distil, self._overlap = distil, overlap

    def __call__(
        self,
        scores: Tensor,
        columns: Int,
        known: Int,
        others: Int,
        taught: NDArray[np.float32] | None = None,
        queries: Sequence[str] = (),
    ) -> Tensor:
        """The loss of queries with `scores` [B, S] in the first step, to be answered by the first
        of the documents `known` [B, 1 + H] rather than by `others`, or as `taught` [B, 1 + H] by
        all that are known; `columns` [V] are those of the scores. The words of `queries` [B] count
        where they are to."""
        documents = np.unique(np.concatenate((known.ravel(), others)))
        shares = torch.from_numpy(self._shares(documents, columns, scores.shape[1]))
        flat = torch.exp(torch.log_softmax(scores, dim=-1) / FLATTENED)
        meant = torch.log(flat @ shares.to(scores.device).T)  # [B, D]
        ranked = self._weight * meant
        if self._overlap:
            same = torch.from_numpy(overlaps(self._constraint, queries)[:, documents])
            ranked = ranked + self._overlap * same.to(scores.device)
        right = self._right(np.searchsorted(documents, known), len(documents), taught)
        return functional.cross_entropy(ranked, right.to(scores.device))

    def _right(self, places: Int, documents: int, taught: NDArray[np.float32] | None) -> Tensor:
        """τ [B, D] of all documents, those that are known at their places [B, 1 + H]; or just the
        places of the answers [B]."""
        if taught is None:
            return torch.from_numpy(places[:, 0])
        shares = self._distil * taught  # [B, 1 + H]
        shares[:, 0] += 1 - self._distil
        right = torch.zeros(len(places), documents)
        return right.scatter_add_(1, torch.from_numpy(places), torch.from_numpy(shares))

    def _shares(self, documents: Int, columns: Int, symbols: int) -> NDArray[np.float32]:
        """[D, S] ŵ_D(t) of each document, at the columns of its terms."""
        sets = self._constraint.term_sets
        starts, lengths = sets.offsets[documents], np.diff(sets.offsets)[documents]
        entries = spans(np.arange(len(sets.values), dtype=np.int32), starts, lengths).values
        owner = np.repeat(np.arange(len(documents)), lengths)
        tokens = self._constraint.spelling.sequence(sets.values[entries])
        shares = np.zeros((len(documents), symbols), dtype=np.float32)
        shares[owner, columns[tokens]] = self._constraint.shares[entries]
        return shares
