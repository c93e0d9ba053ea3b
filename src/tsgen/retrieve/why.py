"""Why a document was or was not found: where it fell out of the beam, and what beam keeps it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tsgen.constrain.constraint import Ragged
from tsgen.decode.config import DecodeConfig
from tsgen.decode.found import Found, as_hits
from tsgen.decode.search import search
from tsgen.decode.watch import Fall, Standing, Watcher
from tsgen.records import Hit, Reason
from tsgen.retrieve.collection import Collection
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.tracing import observed, snapshot

DEPTH = 1000  # ranks that are looked at: a document may be found, yet not among the best k
WIDEST = 2048  # the widest beam that is tried

_A_WIDER_BEAM = ("beam", "spelling", "look_ahead")  # helps against these causes only


@dataclass(frozen=True, slots=True)
class Why:
    """What became of a document in the search for a query."""

    query: str
    document: str
    k: int
    beam: int
    terms: tuple[str, ...]  # T(D), heaviest first
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
    source: Engine | Collection,
    query: str,
    document_id: str,
    k: int = 10,
    beam: int | None = None,
    where: str | None = None,
    widest: int = WIDEST,
) -> Why:
    """Search as `source` does with an eye on one document; if it is lost, look for a beam that
    keeps it, up to `widest`."""
    engine, pool = snapshot(source, where)
    query = engine.read(query)
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


def _needed(
    engine: Engine,
    query: str,
    number: int,
    config: DecodeConfig,
    pool: Ragged | None,
    widest: int,
) -> tuple[int | None, int | None]:
    """A beam that keeps the document, and its rank then."""
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


def _hit(engine: Engine, found: Found) -> Hit:
    sets = engine.generator.sets
    return as_hits([found], sets.documents, sets.vocabulary)[0]
