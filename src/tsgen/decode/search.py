"""Searching: queries in, documents out."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from tsgen.constrain.constraint import Constraint, Ragged
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.beam import Beam, LookAhead, Observer
from tsgen.decode.hypotheses import Found
from tsgen.decode.log_probs import Scorer
from tsgen.decode.ranking import DEPTH, Ranker
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone
from tsgen.settings import DecodeConfig

LookAheadOf = Callable[[Sequence[str]], LookAhead]
"""The queries of a batch → what looks ahead for them."""


@torch.no_grad()
def search(
    backbone: Backbone,
    constraint: Constraint,
    queries: Sequence[str],
    k: int,
    config: DecodeConfig | None = None,
    pool: Ragged | None = None,
    observer: Observer | None = None,
    look_ahead_of: LookAheadOf | None = None,
) -> list[list[Found]]:
    """At most `k` documents for each query, best first; ties by document number.

    Args:
        backbone: the language model that generates identifiers.
        constraint: which identifiers there are.
        queries: texts, as the model is to read them.
        k: documents for each query, at most.
        config: how to search; None: the paper's settings.
        pool: documents (ascending) that each query is limited to, in place of the pool of the set
            prior; a single row of it is for all queries.
        observer: an object that is shown every step of every batch.
        look_ahead_of: what looks ahead in place of the set prior, for any kind of identifier.
    """
    config = config or DecodeConfig()
    scorer = Scorer(backbone, constraint.alphabet, config)
    valid = _term_sets(constraint).in_order if config.in_order else constraint
    answers: list[list[Found]] = []
    for start in range(0, len(queries), config.batch):
        together = queries[start : start + config.batch]
        depth = max(k, DEPTH) if config.reranks else k
        own = None if pool is None else _own(valid, pool, start, len(together))
        if observer is None and config.needs_no_beam:
            _, _, hidden = backbone.encode(together)
            parts = backbone, _term_sets(valid), hidden, together, config
            ranker = Ranker.after_first_step(*parts, beam=False)
            answers += ranker.without_beam(backbone, hidden, k, own)
            continue
        beam = Beam(backbone, valid, scorer, together, depth, config, observer)
        if look_ahead_of is not None:
            answers += beam.run(own, look_ahead_of(together))
        elif config.uses_prior or config.reranks:
            sets = _term_sets(valid if config.uses_prior else constraint)
            if not sets.documents:
                return [[] for _ in queries]
            hidden = beam.start.hidden
            ranker = Ranker.after_first_step(backbone, sets, hidden, together, config)
            answers += _ranked(beam, ranker, own, k, config)
        else:
            answers += beam.run(own)
    return answers


def _ranked(
    beam: Beam, ranker: Ranker, own: Ragged | None, k: int, config: DecodeConfig
) -> list[list[Found]]:
    """The search with the set prior where it has a part in it, in the order of the score."""
    if not config.uses_prior:
        return ranker.ranked(beam.run(own), k)
    prior = ranker.prior()
    pool = prior.pool(config.pool) if config.pool and own is None else own
    ahead = prior.look_ahead(config.look_ahead) if config.look_ahead else None
    return ranker.ranked(ranker.filled(beam.run(pool, ahead), prior, own), k)


@torch.no_grad()
def search_by_prior(
    backbone: Backbone,
    constraint: PostingsConstraint,
    queries: Sequence[str],
    k: int,
    config: DecodeConfig | None = None,
) -> list[list[Found]]:
    """The best `k` documents of each query by the set prior: one decoder step, no search."""
    config = config or DecodeConfig()
    answers: list[list[Found]] = []
    for start in range(0, len(queries), config.batch):
        together = queries[start : start + config.batch]
        _, _, hidden = backbone.encode(together)
        ranker = Ranker.after_first_step(backbone, constraint, hidden, together, config)
        answers += ranker.prior().ranking(k)
    return answers


def _own(constraint: Constraint, pool: Ragged, start: int, size: int) -> Ragged:
    """The rows of a pool for `size` queries; term sets need a single row for all only once."""
    if len(pool.offsets) > 2:
        return pool.take(start + np.arange(size))
    return pool if isinstance(constraint, PostingsConstraint) else pool.take(np.zeros(size, int))


def _term_sets(constraint: Constraint) -> PostingsConstraint:
    """The constraint, if its identifiers are term sets; else an error."""
    if not isinstance(constraint, PostingsConstraint):
        raise ConfigError(
            "`pool`, `fill`, `look_ahead`, `prior_weight`, `lexical_weight` and `in_order` need "
            "term sets, these identifiers are sequences: set all to 0"
        )
    return constraint
