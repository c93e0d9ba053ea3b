"""The case study of the paper: how does the model order one document for different queries?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tsgen.decode.favourite import favourite_permutations
from tsgen.decode.likelihood import log_likelihoods
from tsgen.errors import DataError
from tsgen.retrieve.engine import Engine


@dataclass(frozen=True, slots=True)
class Explanation:
    """The favourite permutation of a document's terms for a query."""

    query: str
    terms: tuple[str, ...]
    log_probs: tuple[float, ...]  # of each term after those before it
    log_prob: float  # of all, in this order
    by_weight: float  # of all, heaviest first: never more


def explain(engine: Engine, document_id: str, queries: Sequence[str]) -> list[Explanation]:
    """For each query the order I of T(D) that the engine's model likes best, found by the search
    of the iterative optimisation, and log p(I_i | I_<i, Q) of every term."""
    number = engine.documents.number(document_id)
    if number is None:
        raise DataError(_unknown(engine, document_id))
    return [_explain(engine, number, engine.read(query)) for query in queries]


def _explain(engine: Engine, number: int, query: str) -> Explanation:
    generator, train = engine.generator, engine.config.train
    backbone, constraint, sets = generator.backbone, generator.constraint, generator.sets
    (favourite,) = favourite_permutations(
        backbone, constraint, [(query, number)], train.favourite_search
    )
    prefixes = [favourite.terms[: i + 1] for i in range(len(favourite.terms))]
    by_weight = constraint.term_sets.row(number)
    sequences = [constraint.spelling.sequence(terms) for terms in prefixes]
    sequences.append(constraint.spelling.sequence(by_weight))
    among = None if train.softmax == "full" else constraint.alphabet
    owner = np.zeros(len(sequences), dtype=np.int64)
    *steps, weighed = log_likelihoods(backbone, [query], owner, sequences, among)
    log_probs = np.diff(steps, prepend=0.0)
    terms = tuple(sets.vocabulary[term] for term in favourite.terms)
    total = float(log_probs.sum())
    return Explanation(query, terms, tuple(log_probs.tolist()), total, float(weighed))


def _unknown(engine: Engine, document_id: str) -> str:
    known = engine.generator.sets.documents
    some = [id for id in known if id.startswith(document_id[:2])][:3] or list(known)[:3]
    return (
        f"{document_id!r}: no such document in the engine; expected an id like "
        f"{', '.join(map(repr, some))}. `tsgen search` prints the ids of what it finds."
    )
