"""How a model would begin to write sets that are given: the first terms of favourite permutations.

Where only the first terms of a target are learned, the order of the others does not matter, and a
search for it would take most of the time.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.constrain.postings import PostingsConstraint
from tsgen.model.backbone import Backbone


class Beginning(NamedTuple):
    """The first terms of a set, as places in it, with Σ log p at the search's temperature."""

    score: float
    places: tuple[int, ...]
    row: int  # among all beginnings of the step before

    @property
    def members(self) -> int:
        """The set of its places, as bits."""
        return sum(1 << place for place in self.places)


@torch.no_grad()
def beginnings(
    backbone: Backbone,
    constraint: PostingsConstraint,
    queries: Sequence[str],
    documents: Sequence[int],
    first: int,
    beam: int,
    temperature: float,
    among: NDArray[np.int32] | None,
) -> list[list[tuple[int, ...]]]:
    """For each query and document the best `beam` beginnings of T(D), of `first` terms or all:
    as terms, likeliest first. One token is one term; of equal sets the likeliest order stays."""
    sets = [constraint.term_sets.row(document) for document in documents]
    tokens = [constraint.spelling.sequence(terms).astype(np.int64) for terms in sets]
    columns = [own if among is None else np.searchsorted(among, own) for own in tokens]
    symbols = None if among is None else torch.from_numpy(among.astype(np.int64))
    cache, node, hidden = backbone.encode(queries)
    live = [[Beginning(0.0, (), row)] for row in range(len(queries))]
    for _ in range(min(first, max(map(len, sets), default=0))):
        logits = backbone.logits(hidden, None if symbols is None else symbols.to(node.device))
        log_probs = torch.log_softmax(logits.float() / temperature, dim=-1).cpu().numpy()
        live = [
            _extended(each, log_probs[[one.row for one in each]][:, own], beam)
            for each, own in zip(live, columns, strict=True)
        ]
        flat = [(one, own) for each, own in zip(live, tokens, strict=True) for one in each]
        parents = torch.tensor([one.row for one, _ in flat], device=node.device)
        last = torch.tensor([own[one.places[-1]] for one, own in flat], device=node.device)
        node, hidden = backbone.step(cache, node[parents], last)
        live = _renumbered(live)
    return [
        [tuple(int(terms[place]) for place in one.places) for one in each]
        for each, terms in zip(live, sets, strict=True)
    ]


def _extended(live: list[Beginning], log_probs: NDArray[np.float32], beam: int) -> list[Beginning]:
    """The best beginnings with one more term; complete ones stay as they are."""
    scores = log_probs + np.array([[one.score] for one in live])  # [B, n]
    for row, one in enumerate(live):
        scores[row, list(one.places)] = -np.inf
    best: dict[int, Beginning] = {}
    for at in np.argsort(-scores, axis=None, kind="stable")[: beam * len(live)].tolist():
        row, place = divmod(at, scores.shape[1])
        if scores[row, place] > -np.inf:
            places = (*live[row].places, place)
            longer = Beginning(float(scores[row, place]), places, live[row].row)
            best.setdefault(longer.members, longer)
    return list(best.values())[:beam] or live


def _renumbered(live: list[list[Beginning]]) -> list[list[Beginning]]:
    """With the rows of the step that was just made."""
    numbers = iter(range(sum(map(len, live))))
    return [[one._replace(row=next(numbers)) for one in each] for each in live]
