"""The front door: queries in, documents out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from tsgen.constrain.constraint import Constraint, Ragged
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.beam import Beam, LookAhead, Observer
from tsgen.decode.hypotheses import Found
from tsgen.decode.log_probs import Scorer
from tsgen.decode.ranking import (
    DEPTH,
    Float32,
    Plan,
    fill,
    overlaps,
    plan_of,
    rank_by_prior,
    rescore,
    term_log_probs,
    with_reason,
)
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone
from tsgen.settings import DecodeConfig

Planner = Callable[[Sequence[str]], LookAhead]
"""Called with the queries of a batch; what looks ahead for them."""


@torch.no_grad()
def search(
    backbone: Backbone,
    constraint: Constraint,
    queries: Sequence[str],
    k: int,
    config: DecodeConfig | None = None,
    pool: Ragged | None = None,
    observer: Observer | None = None,
    planner: Planner | None = None,
) -> list[list[Found]]:
    """At most `k` documents for each query, best first; ties by document order.

    `pool` limits each query to some documents (ascending positions), in place of the prior's pool;
    a single row of it is for all queries.
    `observer` is shown every step of every batch.
    `planner` looks ahead in place of the prior, for any kind of identifier.
    """
    config = config or DecodeConfig()
    scorer = Scorer(backbone, constraint.alphabet, config)
    valid = _term_sets(constraint).in_order if config.in_order else constraint
    answers: list[list[Found]] = []
    for start in range(0, len(queries), config.batch):
        together = queries[start : start + config.batch]
        depth = max(k, DEPTH) if config.ordered else k
        beam = Beam(backbone, valid, scorer, together, depth, config, observer)
        own = None if pool is None else _own(valid, pool, start, len(together))
        if planner is not None:
            answers += beam.run(own, planner(together))
        elif config.planned or config.ordered:
            sets = _term_sets(valid if config.planned else constraint)
            if not sets.documents:
                return [[] for _ in queries]
            first = _First.of(backbone, sets, beam.start.hidden, together, config)
            answers += _planned(beam, sets, first, own, k, config)
        else:
            answers += beam.run(own)
    return answers


@dataclass(frozen=True, slots=True)
class _First:
    """What is known of some queries after the first step."""

    outputs: int  # of the model
    log_probs: Float32  # [Q, T] of all terms
    overlap: Float32 | None  # [Q, D] μ times o of all documents, if it counts

    @classmethod
    def of(
        cls,
        backbone: Backbone,
        sets: PostingsConstraint,
        hidden: torch.Tensor,
        queries: Sequence[str],
        config: DecodeConfig,
    ) -> Self:
        """From the hidden states [Q, d] that predict the first tokens."""
        overlap = config.overlap * overlaps(sets, queries) if config.overlap else None
        return cls(backbone.output_size, term_log_probs(backbone, sets, hidden), overlap)

    def plan(self, sets: PostingsConstraint, config: DecodeConfig) -> Plan:
        """The prior; the overlap has the same part in it as in the order of what is found."""
        overlap = self.overlap
        if overlap is not None and config.rescore:
            overlap = overlap / config.rescore
        return plan_of(self.log_probs, sets, self.outputs, config.prior, overlap)

    def ordered(
        self, found: Sequence[Sequence[Found]], sets: PostingsConstraint, config: DecodeConfig
    ) -> list[list[Found]]:
        """What was found for each query in the order that the settings ask for."""
        added = [None] * len(found) if self.overlap is None else self.overlap
        parts = zip(found, self.log_probs, added, strict=True)
        return [rescore(hits, p, sets, config.rescore, more) for hits, p, more in parts]


def _planned(
    beam: Beam,
    sets: PostingsConstraint,
    first: _First,
    own: Ragged | None,
    k: int,
    config: DecodeConfig,
) -> list[list[Found]]:
    """The search, planned, filled and put in order by what the first step says, as far as
    wanted."""
    if not config.planned:
        found = beam.run(own)
    else:
        prior = first.plan(sets, config)
        inside = prior.pool(config.pool) if config.pool and own is None else own
        found = beam.run(inside, prior.look_ahead(config.look_ahead) if config.look_ahead else None)
        if config.fill:
            best = prior.ranked(config.fill, own)
            found = [fill(hits, *one) for hits, one in zip(found, best, strict=True)]
    if config.ordered:
        found = first.ordered(found, sets, config)
    return [
        [with_reason(hit, row, sets) for hit in hits[:k]]
        for hits, row in zip(found, first.log_probs, strict=True)
    ]


@torch.no_grad()
def search_by_prior(
    backbone: Backbone,
    constraint: PostingsConstraint,
    queries: Sequence[str],
    k: int,
    config: DecodeConfig | None = None,
) -> list[list[Found]]:
    """The set prior as a ranker: one decoder step a query, then a score for every document."""
    config = config or DecodeConfig()
    answers: list[list[Found]] = []
    for start in range(0, len(queries), config.batch):
        together = queries[start : start + config.batch]
        _, _, hidden = backbone.encode(together)
        first = _First.of(backbone, constraint, hidden, together, config)
        answers += rank_by_prior(first.plan(constraint, config), k)
    return answers


def _own(constraint: Constraint, pool: Ragged, start: int, size: int) -> Ragged:
    """The rows of a pool for some queries; one for all, which term sets need not have repeated."""
    if len(pool.offsets) > 2:
        return pool.take(start + np.arange(size))
    return pool if isinstance(constraint, PostingsConstraint) else pool.take(np.zeros(size, int))


def _term_sets(constraint: Constraint) -> PostingsConstraint:
    if not isinstance(constraint, PostingsConstraint):
        raise ConfigError(
            "`pool`, `fill`, `look_ahead`, `rescore`, `overlap` and `in_order` need term sets, "
            "these identifiers are sequences: set all to 0"
        )
    return constraint
