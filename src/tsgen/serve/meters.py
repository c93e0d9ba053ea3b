"""What the server measures of itself, for Prometheus."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    ProcessCollector,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64)
CONTENT_TYPE = CONTENT_TYPE_LATEST


@dataclass(frozen=True, slots=True)
class Meters:
    """Each server has its own."""

    registry: CollectorRegistry
    requests: Counter
    seconds: Histogram
    batches: Histogram
    search_seconds: Histogram

    @classmethod
    def new(cls, documents: Callable[[], float], waiting: Callable[[], float]) -> Self:
        """All at zero; the two functions are asked at each reading."""
        own = CollectorRegistry()
        ProcessCollector(registry=own)
        GCCollector(registry=own)
        gauges = {
            "tsgen_documents": ("Documents in the collection.", documents),
            "tsgen_waiting_queries": ("Queries that wait for the model.", waiting),
        }
        for name, (what, read) in gauges.items():
            Gauge(name, what, registry=own).set_function(read)
        counted = Counter(
            "tsgen_requests", "Requests.", ["route", "method", "status"], registry=own
        )
        return cls(
            own,
            counted,
            Histogram(
                "tsgen_request_seconds", "To the answer.", ["route"], registry=own, buckets=SECONDS
            ),
            Histogram("tsgen_batch_queries", "Answered together.", registry=own, buckets=SIZES),
            Histogram("tsgen_search_seconds", "For a batch.", registry=own, buckets=SECONDS),
        )

    def text(self) -> bytes:
        """In Prometheus' format."""
        return generate_latest(self.registry)
