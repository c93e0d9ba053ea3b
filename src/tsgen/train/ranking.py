"""A loss that orders documents, beside that of their terms.

What is found is put in order by how much a document means what the query is after (see
`decode.rescore`). That can be learned as such: among the documents D' of a batch and some others

    L = −log ( m(Q, D)^λ / Σ_{D'} m(Q, D')^λ ),   m(Q, D) = Σ_{t ∈ T(D)} ŵ_D(t) p(t | Q)^{1/u}.

It takes no more than the first step's scores, which the loss of the terms needs anyway.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tsgen.constrain.constraint import Int, spans
from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.rescore import FLATTENED


class Ranking:
    """The loss of a batch."""

    def __init__(self, constraint: PostingsConstraint, weight: float) -> None:
        """`weight` is λ."""
        self._constraint, self._weight = constraint, weight

    def __call__(self, scores: Tensor, columns: Int, targets: Int, others: Int) -> Tensor:
        """The loss of queries with `scores` [B, S] in the first step, to be answered by the
        documents `targets` [B] rather than by `others`; `columns` [V] are those of the scores."""
        documents, right = np.unique(np.concatenate((targets, others)), return_inverse=True)
        shares = torch.from_numpy(self._shares(documents, columns, scores.shape[1]))
        flat = torch.exp(torch.log_softmax(scores, dim=-1) / FLATTENED)
        meant = torch.log(flat @ shares.to(scores.device).T)  # [B, D]
        answers = torch.from_numpy(right[: len(targets)]).to(scores.device)
        return functional.cross_entropy(self._weight * meant, answers)

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
