"""The favourite permutation: in which order would the model generate a set that is given?

The paper's iterative optimisation: from iteration 2 on, the target for (Q, D) is the first beam
Z_{1,N} of a search inside T(D) with beam B' and log p at temperature u, log softmax(logits / u).
The search is the same as for retrieval, in a pool of one document.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from pydantic import Field

from tsgen.config import StageConfig
from tsgen.constrain.constraint import Ragged
from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.config import DecodeConfig
from tsgen.decode.likelihood import log_likelihoods
from tsgen.decode.search import search
from tsgen.model.backbone import Backbone

Pair = tuple[str, int]
"""A query and the position of a document."""


class FavouriteConfig(StageConfig):
    """The search for the favourite permutation."""

    beam: int = Field(4, ge=1)
    """B'."""

    temperature: float = Field(3.0, gt=0)
    """u, only for the search: reported likelihoods are those at temperature 1."""

    normalise: Literal["full", "docid"] = "full"
    """As in `DecodeConfig`."""

    merge: Literal["max", "none"] = "max"
    """As in `DecodeConfig`; `none` is the paper's text, `max` keeps a narrow beam diverse."""

    batch: int = Field(64, ge=1)
    """How many pairs are searched together."""


@dataclass(frozen=True, slots=True)
class Favourite:
    """The terms in the model's favourite order, and log p of that order."""

    terms: tuple[int, ...]
    log_prob: float


@torch.no_grad()
def favourite_permutations(
    backbone: Backbone,
    constraint: PostingsConstraint,
    pairs: Sequence[Pair],
    config: FavouriteConfig | None = None,
) -> list[Favourite]:
    """For each pair the order that the beam finds, or the weight order where that is likelier."""
    config = config or FavouriteConfig()
    favourites: list[Favourite] = []
    for start in range(0, len(pairs), config.batch):
        favourites += _favourites(backbone, constraint, pairs[start : start + config.batch], config)
    return favourites


def _favourites(
    backbone: Backbone,
    constraint: PostingsConstraint,
    pairs: Sequence[Pair],
    config: FavouriteConfig,
) -> list[Favourite]:
    queries = [query for query, _ in pairs]
    documents = np.array([document for _, document in pairs], dtype=np.int32)
    pool = Ragged(np.arange(len(pairs) + 1), documents)
    found = search(backbone, constraint, queries, 1, DecodeConfig(**config.model_dump()), pool)
    sets = constraint.term_sets
    by_weight = [tuple(sets.row(document).tolist()) for document in documents]
    by_search = [hits[0].units if hits else () for hits in found]  # no terms: nothing to find
    sequences = [constraint.spelling.sequence(terms) for terms in by_search + by_weight]
    among = constraint.alphabet if config.normalise == "docid" else None
    owner = np.tile(np.arange(len(pairs)), 2)
    scored = log_likelihoods(backbone, queries, owner, sequences, among)
    options = zip(by_search, scored[: len(pairs)], by_weight, scored[len(pairs) :], strict=True)
    return [
        Favourite(first, float(p)) if p >= q else Favourite(second, float(q))
        for first, p, second, q in options
    ]
