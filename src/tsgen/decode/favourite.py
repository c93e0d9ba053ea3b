"""The favourite permutation: in which order would the model generate a set that is given?

The paper's iterative optimisation: from iteration 2 on, the target for (Q, D) is the first beam
Z_{1,N} of a search inside T(D) with beam B' and log p at temperature u, log softmax(logits / u).
The search is the same as for retrieval, in a pool of one document. Where only the first terms of a
target are learned, only their order is searched (see `beginnings`); the others follow by weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from pydantic import Field

from tsgen.config import StageConfig, unset
from tsgen.constrain.constraint import Ragged
from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.beginnings import beginnings
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

    first: int | None = Field(None, ge=1, exclude_if=unset)
    """Only the order of so many terms is searched; None: that of all. Needs one token a term."""


@dataclass(frozen=True, slots=True)
class Favourite:
    """The terms in the model's favourite order, and log p of that order, or of its first terms."""

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
    return [best for best, *_ in best_permutations(backbone, constraint, pairs, 1, config)]


@torch.no_grad()
def best_permutations(
    backbone: Backbone,
    constraint: PostingsConstraint,
    pairs: Sequence[Pair],
    count: int,
    config: FavouriteConfig | None = None,
) -> list[list[Favourite]]:
    """For each pair up to `count` orders, likeliest first, of those that the beam ends with and the
    weight order. To end with several the search keeps equal sets apart."""
    config = config or FavouriteConfig()
    favourites: list[list[Favourite]] = []
    for start in range(0, len(pairs), config.batch):
        some = pairs[start : start + config.batch]
        favourites += _best(backbone, constraint, some, count, config)
    return favourites


def _best(
    backbone: Backbone,
    constraint: PostingsConstraint,
    pairs: Sequence[Pair],
    count: int,
    config: FavouriteConfig,
) -> list[list[Favourite]]:
    queries, documents = [query for query, _ in pairs], [document for _, document in pairs]
    by_weight = [tuple(constraint.term_sets.row(document).tolist()) for document in documents]
    among = constraint.alphabet if config.normalise == "docid" else None
    if config.first is None:
        found = _orders(backbone, constraint, pairs, count, config)
    else:
        wanted = config.first, max(config.beam, count), config.temperature, among
        begun = beginnings(backbone, constraint, queries, documents, *wanted)
        found = [
            [_completed(first, order) for first in each[:count]]
            for each, order in zip(begun, by_weight, strict=True)
        ]
    options = [  # without terms there is nothing to find but the empty order
        list(dict.fromkeys([*orders, order]))
        for orders, order in zip(found, by_weight, strict=True)
    ]
    owner = np.repeat(np.arange(len(pairs)), [len(orders) for orders in options])
    learned = [order[: config.first] for orders in options for order in orders]
    sequences = [constraint.spelling.sequence(order) for order in learned]
    scores = iter(log_likelihoods(backbone, queries, owner, sequences, among).tolist())
    scored = [[Favourite(order, next(scores)) for order in orders] for orders in options]
    return [sorted(each, key=lambda one: -one.log_prob)[:count] for each in scored]


def _orders(
    backbone: Backbone,
    constraint: PostingsConstraint,
    pairs: Sequence[Pair],
    count: int,
    config: FavouriteConfig,
) -> list[list[tuple[int, ...]]]:
    """For each pair the orders of all terms that the search ends with."""
    documents = np.array([document for _, document in pairs], dtype=np.int32)
    pool = Ragged(np.arange(len(pairs) + 1), documents)
    queries, decoding = [query for query, _ in pairs], _decoding(config, count)
    found = search(backbone, constraint, queries, count, decoding, pool)
    return [[hit.units for hit in hits] for hits in found]


def _completed(first: tuple[int, ...], by_weight: tuple[int, ...]) -> tuple[int, ...]:
    """All terms: the first ones in their order, then the others by weight."""
    return (*first, *(term for term in by_weight if term not in first))


def _decoding(config: FavouriteConfig, count: int) -> DecodeConfig:
    several = {"orders": count, "merge": "none", "beam": max(config.beam, count)}
    values = config.model_dump(exclude={"first"})
    return DecodeConfig(**values | (several if count > 1 else {}))
