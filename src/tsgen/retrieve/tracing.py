"""How an engine generated an answer: the beams of its search, step by step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tsgen.constrain.constraint import Ragged
from tsgen.decode.config import DecodeConfig
from tsgen.decode.found import Found, as_hits
from tsgen.decode.moment import Observer
from tsgen.decode.search import search
from tsgen.decode.trace import EDGE, Tracer, TraceStep
from tsgen.records import Hit
from tsgen.retrieve.among import pool_of, widened
from tsgen.retrieve.collection import Collection
from tsgen.retrieve.engine import Engine

Observing = TypeVar("Observing", bound=Observer)


@dataclass(frozen=True, slots=True)
class Trace:
    """An answer and how it came about."""

    query: str
    beam: int
    documents: int  # |Y| before the first step
    hits: tuple[Hit, ...]
    paths: tuple[tuple[int, ...], ...]  # for each hit its hypotheses' places in the steps
    steps: tuple[TraceStep, ...]


def trace(
    source: Engine | Collection,
    query: str,
    k: int = 10,
    beam: int | None = None,
    where: str | None = None,
) -> Trace:
    """Search as `source` does, and write down what the search keeps and prunes."""
    engine, pool = snapshot(source, where)
    query = engine.read(query)
    sets, constraint = engine.generator.sets, engine.generator.constraint

    def tracer(_config: DecodeConfig) -> Tracer:
        return Tracer(constraint, sets.documents, sets.vocabulary)

    config = engine.config.decode.with_beam(beam)
    found, config, seen = observed(engine, query, k, k, config, pool, tracer)
    hits = as_hits(found, sets.documents, sets.vocabulary)
    paths = tuple(seen.places_of(hit) for hit in hits)
    documents = len(sets) if pool is None else len(pool.values)
    return Trace(query, config.beam, documents, tuple(hits), paths, tuple(seen.steps))


def snapshot(source: Engine | Collection, where: str | None) -> tuple[Engine, Ragged | None]:
    """The engine at one moment, and the documents that a filter lets through."""
    engine = source.engine if isinstance(source, Collection) else source
    if where is None:
        return engine, None
    return engine, pool_of(engine.documents.matching(where))


def observed(
    engine: Engine,
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
    """The same with the best `most` hypotheses of each step, those that led to a hit, what these
    grew from, and the best of the pruned ones."""
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
