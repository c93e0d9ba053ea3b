"""How much one request may ask for, how much the server takes on at a time, and what share of that
one client gets while others wait."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import Field

from tsgen.config import StageConfig
from tsgen.serve.http_errors import HttpError


class Limits(StageConfig):
    """How much a request may ask for; one beyond a limit is refused with a message that names
    it."""

    body: int = Field(2**20, ge=1)
    """Bytes of a request's body."""

    queries: int = Field(64, ge=1)
    """Queries of one request."""

    query: int = Field(1000, ge=1)
    """Characters of a query."""

    where: int = Field(1000, ge=1)
    """Characters of a filter."""

    k: int = Field(100, ge=1)
    """Hits of a query."""

    beam: int = Field(200, ge=1)
    """B, the hypotheses that a query may ask to keep."""

    hypotheses: int = Field(3200, ge=1)
    """The queries of one request times the beam that it asks for: work of about half a `seconds`
    for a collection of ten thousand documents on one core."""

    document: int = Field(100_000, ge=1)
    """Characters of a document's title and text."""

    seconds: float = Field(30.0, gt=0)
    """From a request's first byte to its answer. A change that has begun is always finished and
    answered; one that has not is not made."""

    sending: float = Field(15.0, gt=0)
    """Seconds in which a client takes nothing of its answer; its connection is closed then."""

    waiting: int = Field(256, ge=1)
    """Queries (and, apart from them, changes) that may wait; more are sent away with a 503. One
    client gets three quarters of the places, less while others wait."""

    batch: int = Field(8, ge=1)
    """Queries that are searched together, whoever asked them; 1: one after the other."""

    connections: int = Field(512, ge=1)
    """Connections that are open at a time. When all are taken, the one on which the server has
    waited longest for its client gives way."""


ALONE = 0.75  # of the places: for a client while no other one waits


class Shares:
    """The places of a queue by client, so that one that asks a lot leaves places for others.

    A client that has no place yet is never refused here. One that has some is refused when it would
    get more than its share: the places divided by the number of clients that have any.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._held: Counter[str] = Counter()

    @contextmanager
    def held(self, client: str, count: int) -> Iterator[None]:
        """Hold places while a request is answered; an `HttpError` if they are too many."""
        clients = len(self._held.keys() | {client})
        share = self._places * ALONE if clients == 1 else self._places / clients
        if self._held[client] and self._held[client] + count > share:
            raise busy("of your own requests", int(share))
        self._held[client] += count
        try:
            yield
        finally:
            self._held[client] -= count
            if self._held[client] <= 0:
                del self._held[client]


def busy(what: str, most: int) -> HttpError:
    """The error for a request that comes when too many wait already."""
    message = (
        f"found {most} {what} waiting, which is as many as this server lets wait. Ask again in a "
        "second, or let more wait with --limit waiting=N."
    )
    return HttpError(503, "busy", message, {"Retry-After": "1"})
