"""Searching among some of the documents: Y starts from these, so nothing else can be found."""

from collections.abc import Sequence

import numpy as np

from tsgen.constrain.constraint import Int32, Ragged
from tsgen.decode.config import DecodeConfig
from tsgen.decode.found import Found
from tsgen.decode.search import search
from tsgen.train.generator import Generator

WIDER = 4  # times as many beams where too few documents were found
WIDEST = 1024


def search_among(
    generator: Generator, queries: Sequence[str], k: int, decode: DecodeConfig, documents: Int32
) -> list[list[Found]]:
    """At most `k` of these documents (ascending numbers) for each query, best first.

    A beam that found fewer although there are more is widened, until there are k or all.
    """
    if not len(documents):
        return [[] for _ in queries]
    pool, wanted = pool_of(documents), min(k, len(documents))
    backbone, constraint = generator.backbone, generator.constraint
    found = search(backbone, constraint, queries, k, decode, pool)
    short = [i for i, hits in enumerate(found) if len(hits) < wanted]
    while short and (wider := widened(decode)) is not None:
        decode = wider
        again = search(backbone, constraint, [queries[i] for i in short], k, decode, pool)
        for i, hits in zip(short, again, strict=True):
            found[i] = hits
        short = [i for i in short if len(found[i]) < wanted]
    return found


def pool_of(documents: Int32) -> Ragged:
    """These documents for every query."""
    return Ragged(np.array([0, len(documents)]), documents)


def widened(decode: DecodeConfig) -> DecodeConfig | None:
    """The same settings with the next wider beam; None if there is none."""
    if decode.beam >= WIDEST:
        return None
    return decode.with_beam(min(WIDER * decode.beam, WIDEST))
