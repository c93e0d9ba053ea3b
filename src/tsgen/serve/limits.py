"""How much one request may ask for, and how much the server takes on at a time."""

from pydantic import Field

from tsgen.config import StageConfig


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

    seconds: float = Field(30.0, gt=0)
    """From a request's first byte to its answer; a connection may be silent as long."""

    waiting: int = Field(256, ge=1)
    """Queries (and, apart from them, changes) that may wait; more are sent away with a 503."""

    batch: int = Field(8, ge=1)
    """Queries that are searched together, whoever asked them; 1: one after the other."""

    connections: int = Field(512, ge=1)
    """Connections that are open at a time."""
