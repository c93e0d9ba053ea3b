"""The favourite permutation: the order in which the model most likely generates a given term set.

The paper's iterative optimisation: from iteration 2 on, the target for (Q, D) is the first beam
Z_{1,N} of a search inside T(D) with beam B' and log p at temperature u, log softmax(logits / u).
The search is the same as for retrieval, in a pool of one document. Where only the first terms of a
target are learned, only their order is searched (see `beginnings`); the others follow by weight.

An option goes beyond the paper: with `or_weight_order` the order by weight is compared with those
found, all at temperature 1, and the likelier one is the target. A model that has learned the order
by weight then seldom leaves it, so that iterating changes little.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.constrain.constraint import Ragged
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.log_probs import log_likelihoods
from tsgen.decode.search import search
from tsgen.model.backbone import Backbone
from tsgen.settings import DecodeConfig, FavouriteConfig

# The first terms of favourite permutations.
#
# Where only the first terms of a target are learned, the order of the others does not matter, and a
# search for complete sets takes most of its time for it. So these first steps have a small beam of
# their own, over terms of one token: with 48 terms a document, of which 6 are learned, 64 pairs
# take 2 to 5 s in place of 15 s (tsgen-mini, cranfield, one thread).


class Beginning(NamedTuple):
    """The first terms of an order of a set."""

    score: float  # Σ log p of the terms at the search's temperature
    places: tuple[int, ...]  # of the terms in the set
    row: int  # of the beginning among all those of the step before

    @property
    def members(self) -> int:
        """The set of the places as a bit mask."""
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
    """The best beginnings of T(D) for each query and document, most likely first, as terms.

    Of several orders of equal sets the most likely one stays.

    Args:
        backbone: a model with one token a term.
        constraint: the term sets.
        queries: [P] texts.
        documents: [P] the number of each query's document.
        first: terms of a beginning; a smaller set has all its terms in it.
        beam: beginnings for each pair.
        temperature: what logits are divided by.
        among: the tokens that p is normalised over; None: all outputs.
    """
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
    """The beginnings with their rows in the step that was just made."""
    numbers = iter(range(sum(map(len, live))))
    return [[one._replace(row=next(numbers)) for one in each] for each in live]


Pair = tuple[str, int]
"""A query and the position of a document."""


@dataclass(frozen=True, slots=True)
class Favourite:
    """An order of a term set, and its log p, or that of its first terms, at temperature 1."""

    terms: tuple[int, ...]
    log_prob: float


@torch.no_grad()
def favourite_permutations(
    backbone: Backbone,
    constraint: PostingsConstraint,
    pairs: Sequence[Pair],
    config: FavouriteConfig | None = None,
) -> list[Favourite]:
    """For each pair the first beam of the search, or the weight order where the settings want it
    and it is likelier."""
    return [best for best, *_ in best_permutations(backbone, constraint, pairs, 1, config)]


@torch.no_grad()
def best_permutations(
    backbone: Backbone,
    constraint: PostingsConstraint,
    pairs: Sequence[Pair],
    count: int,
    config: FavouriteConfig | None = None,
) -> list[list[Favourite]]:
    """For each pair up to `count` orders that the search ends with, the first beam first.

    To end with several orders, the search does not merge equal sets. With `or_weight_order` the
    order by weight is one of them, and they are sorted by their log p at temperature 1.
    """
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
        list(dict.fromkeys([*orders, order])) if config.or_weight_order else orders or [order]
        for orders, order in zip(found, by_weight, strict=True)
    ]
    owner = np.repeat(np.arange(len(pairs)), [len(orders) for orders in options])
    learned = [order[: config.first] for orders in options for order in orders]
    sequences = [constraint.spelling.sequence(order) for order in learned]
    scores = iter(log_likelihoods(backbone, queries, owner, sequences, among).tolist())
    scored = [[Favourite(order, next(scores)) for order in orders] for orders in options]
    if config.or_weight_order:
        for each in scored:
            each.sort(key=lambda one: -one.log_prob)
    return [each[:count] for each in scored]


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
    values = config.model_dump(exclude={"first", "or_weight_order"})
    return DecodeConfig(**values | (several if count > 1 else {}))
