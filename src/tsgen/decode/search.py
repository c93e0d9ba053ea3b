"""The front door: queries in, documents out."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from tsgen.constrain.constraint import Constraint, Ragged
from tsgen.constrain.postings import PostingsConstraint
from tsgen.decode.beam import Beam, LookAhead
from tsgen.decode.config import DecodeConfig
from tsgen.decode.found import Found
from tsgen.decode.moment import Observer
from tsgen.decode.plan import plan, rank_by_prior, term_log_probs
from tsgen.decode.rescore import DEPTH, rescore
from tsgen.decode.score import Scorer
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone

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
        depth = max(k, DEPTH) if config.rescore else k
        beam = Beam(backbone, valid, scorer, together, depth, config, observer)
        own = None if pool is None else _own(valid, pool, start, len(together))
        if planner is not None:
            found = beam.run(own, planner(together))
        else:
            found = _run(beam, backbone, valid, own, config)
        if config.rescore and any(found):
            sets = _term_sets(constraint)
            terms = term_log_probs(backbone, sets, beam.start.hidden)
            pairs = zip(found, terms, strict=True)
            found = [rescore(one, row, sets, config.rescore)[:k] for one, row in pairs]
        answers += found
    return answers


def _run(
    beam: Beam, backbone: Backbone, constraint: Constraint, own: Ragged | None, config: DecodeConfig
) -> list[list[Found]]:
    """The search, planned by the set prior as far as wanted."""
    if not (config.look_ahead or (config.pool and own is None)):
        return beam.run(own)
    prior = plan(backbone, _term_sets(constraint), beam.start.hidden, config.prior)
    look_ahead = prior.look_ahead(config.look_ahead) if config.look_ahead else None
    if own is None and config.pool:
        own = prior.pool(config.pool)
    return beam.run(own, look_ahead)


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
        _, _, hidden = backbone.encode(queries[start : start + config.batch])
        answers += rank_by_prior(plan(backbone, constraint, hidden, config.prior), k)
    return answers


def _own(constraint: Constraint, pool: Ragged, start: int, size: int) -> Ragged:
    """The rows of a pool for some queries; one for all, which term sets need not have repeated."""
    if len(pool.offsets) > 2:
        return pool.take(start + np.arange(size))
    return pool if isinstance(constraint, PostingsConstraint) else pool.take(np.zeros(size, int))


def _term_sets(constraint: Constraint) -> PostingsConstraint:
    if not isinstance(constraint, PostingsConstraint):
        raise ConfigError(
            "`pool`, `look_ahead`, `rescore` and `in_order` need term sets, these identifiers are "
            "sequences: set all to 0"
        )
    return constraint
