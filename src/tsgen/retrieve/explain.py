"""Why a document was or was not found: where it fell out of the beam, and what beam keeps it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

import numpy as np

from tsgen.constrain.constraint import Ragged
from tsgen.decode.beam import Observer
from tsgen.decode.favourite import favourite_permutations
from tsgen.decode.hypotheses import Found, as_hits
from tsgen.decode.log_probs import log_likelihoods
from tsgen.decode.observe import EDGE, Fall, Standing, Tracer, TraceStep, Watcher
from tsgen.decode.search import search
from tsgen.errors import UnknownDocumentError
from tsgen.records import Hit, Reason
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.results import nearest_passage
from tsgen.retrieve.snapshot import Snapshot, pool_of, widened
from tsgen.settings import DecodeConfig

# The case study of the paper: how does the model order one document for different queries?


@dataclass(frozen=True, slots=True)
class Explanation:
    """The most likely order of a document's terms for a query."""

    query: str
    terms: tuple[str, ...]
    log_probs: tuple[float, ...]  # of each term after those before it
    log_prob: float  # of all, in this order
    by_weight: float  # of all, heaviest first: never more


def explain(
    source: Engine | Snapshot, document_id: str, queries: Sequence[str]
) -> list[Explanation]:
    """For each query the most likely order I of T(D), and log p(I_i | I_<i, Q) of every term.

    The search is that of the iterative optimisation, but at temperature 1, and the order by weight
    is always among those compared.
    """
    engine = snapshot_of(source)
    number = engine.documents.number(document_id)
    if number is None:
        raise UnknownDocumentError(_unknown(engine, document_id))
    return [_explain(engine, number, engine.correct_query(query)) for query in queries]


def snapshot_of(source: Engine | Snapshot) -> Snapshot:
    """An engine as it is now, or the snapshot itself."""
    return source.snapshot if isinstance(source, Engine) else source


def _explain(engine: Snapshot, number: int, query: str) -> Explanation:
    generator, train = engine.generator, engine.config.train
    backbone, constraint, sets = generator.backbone, generator.constraint, generator.sets
    likeliest = {"temperature": 1.0, "or_weight_order": True}
    config = train.favourite_search.model_copy(update=likeliest)
    (favourite,) = favourite_permutations(backbone, constraint, [(query, number)], config)
    prefixes = [favourite.terms[: i + 1] for i in range(len(favourite.terms))]
    by_weight = constraint.term_sets.row(number)
    sequences = [constraint.spelling.sequence(terms) for terms in prefixes]
    sequences.append(constraint.spelling.sequence(by_weight))
    among = None if train.normalise == "full" else constraint.alphabet
    owner = np.zeros(len(sequences), dtype=np.int64)
    *steps, weighed = log_likelihoods(backbone, [query], owner, sequences, among)
    log_probs = np.diff(steps, prepend=0.0)
    terms = tuple(sets.vocabulary[term] for term in favourite.terms)
    total = float(log_probs.sum())
    return Explanation(query, terms, tuple(log_probs.tolist()), total, float(weighed))


def _unknown(engine: Snapshot, document_id: str) -> str:
    known = engine.generator.sets.documents
    some = [id for id in known if id.startswith(document_id[:2])][:3] or list(known)[:3]
    return (
        f"{document_id!r}: no such document in the engine; expected an id like "
        f"{', '.join(map(repr, some))}. `tsgen search` prints the ids of what it finds."
    )


# How an engine generated an answer: the beams of its search, step by step.

Observing = TypeVar("Observing", bound=Observer)


@dataclass(frozen=True, slots=True)
class Trace:
    """The answer to a query, and the beams of the search that led to it."""

    query: str
    beam: int
    documents: int  # |Y| before the first step
    hits: tuple[Hit, ...]
    paths: tuple[tuple[int, ...], ...]  # for each hit its hypotheses' places in the steps
    steps: tuple[TraceStep, ...]


def trace(
    source: Engine | Snapshot,
    query: str,
    k: int = 10,
    beam: int | None = None,
    where: str | None = None,
) -> Trace:
    """Search as the engine does, and record what the search keeps and prunes at each step."""
    engine, pool = filtered(source, where)
    query = engine.correct_query(query)
    sets, constraint = engine.generator.sets, engine.generator.constraint

    def tracer(_config: DecodeConfig) -> Tracer:
        return Tracer(constraint, sets.documents, sets.vocabulary)

    config = engine.config.decode.with_beam(beam)
    found, config, seen = observed(engine, query, k, k, config, pool, tracer)
    hits = as_hits(found, sets.documents, sets.vocabulary)
    paths = tuple(seen.places_of(hit) for hit in hits)
    documents = len(sets) if pool is None else len(pool.values)
    return Trace(query, config.beam, documents, tuple(hits), paths, tuple(seen.steps))


def filtered(source: Engine | Snapshot, where: str | None) -> tuple[Snapshot, Ragged | None]:
    """The engine at one moment, and the documents that a filter lets through; None for all."""
    engine = snapshot_of(source)
    if where is None:
        return engine, None
    return engine, pool_of(engine.documents.matching(where))


def observed(
    engine: Snapshot,
    query: str,
    k: int,
    depth: int,
    config: DecodeConfig,
    pool: Ragged | None,
    observe: Callable[[DecodeConfig], Observing],
) -> tuple[list[Found], DecodeConfig, Observing]:
    """The best `depth` documents, the settings they were found with, and the observer of this
    search. Among some documents the beam is widened where it finds fewer than k, as by `search`."""
    generator, observer = engine.generator, observe(config)
    if pool is not None and not len(pool.values):
        return [], config, observer
    (found,) = search(
        generator.backbone, generator.constraint, [query], depth, config, pool, observer
    )
    wider = None if pool is None or len(found) >= min(k, len(pool.values)) else widened(config)
    if wider is None:
        return found, config, observer
    return observed(engine, query, k, depth, wider, pool, observe)


def shortened(whole: Trace, most: int) -> Trace:
    """A trace with fewer hypotheses: the best `most` of each step, those that led to a hit, what
    these grew from, and the best of those that were pruned."""
    steps, paths = list(whole.steps), whole.paths
    wanted: set[int] = set()
    for number in range(len(steps) - 1, -1, -1):
        shown = _shown(steps[number], most) | wanted
        shown |= {path[number] for path in paths if len(path) > number}
        kept = sorted(shown)
        hypotheses = steps[number].hypotheses
        wanted = {hypotheses[place].parent for place in kept}
        steps[number] = replace(steps[number], hypotheses=tuple(hypotheses[p] for p in kept))
        new = {place: i for i, place in enumerate(kept)}
        paths = tuple(_renumbered(path, number, new) for path in paths)
        if number + 1 < len(steps):
            steps[number + 1] = _reparented(steps[number + 1], new)
    return replace(whole, steps=tuple(steps), paths=paths)


def _shown(step: TraceStep, most: int) -> set[int]:
    fates = [one.fate for one in step.hypotheses]
    stayed = [place for place, fate in enumerate(fates) if fate != "pruned"]
    pruned = [place for place, fate in enumerate(fates) if fate == "pruned"]
    pruned.sort(key=lambda place: -step.hypotheses[place].score)
    return {*stayed[:most], *pruned[:EDGE]}


def _renumbered(path: Sequence[int], number: int, new: dict[int, int]) -> tuple[int, ...]:
    return tuple(new[p] if i == number else p for i, p in enumerate(path))


def _reparented(step: TraceStep, new: dict[int, int]) -> TraceStep:
    return replace(
        step, hypotheses=tuple(replace(one, parent=new[one.parent]) for one in step.hypotheses)
    )


DEPTH = 1000  # ranks that are looked at: a document may be found, yet not among the best k
WIDEST = 2048  # the widest beam that is tried

_A_WIDER_BEAM = ("beam", "spelling", "look_ahead")  # helps against these causes only


@dataclass(frozen=True, slots=True)
class Why:
    """The fate of a document in the search for a query."""

    query: str
    document: str
    k: int
    beam: int
    terms: tuple[str, ...]  # T(D), heaviest first
    passage: str | None  # of a long document that was found: what of it is nearest to the query
    found: bool  # whether it is in the answer
    rank: int | None  # from 1, also beyond k; None: the beam lost it
    score: float | None
    reason: Reason | None  # the path by which it was found
    standings: tuple[Standing, ...]  # step by step, while it was in the beam
    fall: Fall | None  # where it fell out
    needed_beam: int | None  # one that keeps it while half of it does not; None: none was found
    rank_then: int | None  # with that beam
    widest: int  # no wider beam was tried


def why(
    source: Engine | Snapshot,
    query: str,
    document_id: str,
    k: int = 10,
    beam: int | None = None,
    where: str | None = None,
    widest: int = WIDEST,
) -> Why:
    """Follow one document through a search; if it is lost, look for a beam that keeps it, up to
    `widest`."""
    engine, pool = filtered(source, where)
    query = engine.correct_query(query)
    sets, number = engine.generator.sets, engine.number(document_id)

    def watcher(config: DecodeConfig) -> Watcher:
        constraint = engine.generator.constraint
        return Watcher(constraint, sets.documents, sets.vocabulary, number, config)

    config, depth = engine.config.decode.with_beam(beam), max(k, DEPTH)
    found, config, seen = observed(engine, query, k, depth, config, pool, watcher)
    rank, fall = _rank(found, number), seen.fall
    if rank is None and not seen.standings and fall is None:
        fall = Fall(0, "filtered")  # no document passed, so nothing was searched
    needed, then = None, None
    if rank is None and fall is not None and fall.cause in _A_WIDER_BEAM:
        needed, then = _needed(engine, query, number, config, pool, widest)
    hit = _hit(engine, found[rank - 1]) if rank else None
    return Why(
        query,
        document_id,
        k,
        config.beam,
        sets.term_set(number).terms,
        _passage_text(engine, hit, number) if hit else None,
        rank is not None and rank <= k,
        rank,
        hit.score if hit else None,
        hit.reason if hit else None,
        tuple(seen.standings),
        None if rank else fall,
        needed,
        then,
        widest,
    )


def _passage_text(engine: Snapshot, hit: Hit, number: int) -> str | None:
    """The text of the passage that is nearest to the query, of a document that has several."""
    document = engine.documents[number]
    place = nearest_passage(hit, document)
    return None if place is None else document.text[place.start : place.end]


def _needed(
    engine: Snapshot,
    query: str,
    number: int,
    config: DecodeConfig,
    pool: Ragged | None,
    widest: int,
) -> tuple[int | None, int | None]:
    """A beam that keeps the document, and the document's rank with that beam."""
    backbone, constraint = engine.generator.backbone, engine.generator.constraint

    @cache
    def rank(width: int) -> int | None:
        found = search(backbone, constraint, [query], DEPTH, config.with_beam(width), pool)
        return _rank(found[0], number)

    needed = smallest_beam(lambda width: rank(width) is not None, config.beam, widest)
    return needed, rank(needed) if needed else None


def smallest_beam(keeps: Callable[[int], bool], beam: int, widest: int) -> int | None:
    """A beam that keeps what `beam` loses while half of it does not: by doubling, then bisecting.

    A wider beam may lose what a narrower one kept, so it need not be the narrowest of all.
    """
    lost, kept = beam, None
    while kept is None:
        if lost >= widest:
            return None
        width = min(2 * lost, widest)
        lost, kept = (lost, width) if keeps(width) else (width, None)
    while kept - lost > 1:
        width = (lost + kept) // 2
        lost, kept = (lost, width) if keeps(width) else (width, kept)
    while kept > 1 and keeps(kept // 2):
        kept //= 2
    return kept


def _rank(found: list[Found], number: int) -> int | None:
    ranks = (rank for rank, one in enumerate(found, 1) if one.document == number)
    return next(ranks, None)


def _hit(engine: Snapshot, found: Found) -> Hit:
    sets = engine.generator.sets
    return as_hits([found], sets.documents, sets.vocabulary)[0]
