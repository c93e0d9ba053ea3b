"""Where a query's time goes: model, constraint, search; and how much memory the process took."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

from tsgen.decode.hypotheses import Found
from tsgen.decode.search import search
from tsgen.settings import DecodeConfig

# The definitions of a document's score that are measured. The first is the paper's, its equal sets
# merged; the last one adds up the probabilities of all orders that the beam meets.
SEARCHES: dict[str, dict[str, Any]] = {
    "full": {},
    "valid": {"normalise": "valid"},
    "sum": {"normalise": "valid", "merge": "sum"},
}


class Timed:
    """Anything, with the time of all calls from outside taken by method."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.by_method = inner, defaultdict(float)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        return self._timed(name, value) if callable(value) else value

    def _timed(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            began = perf_counter()
            try:
                return method(*args, **kwargs)
            finally:
                self.by_method[name] += perf_counter() - began

        return call

    def take(self) -> float:
        """The seconds since the last call, and start anew."""
        total = sum(self.by_method.values())
        self.by_method.clear()
        return total


@dataclass(frozen=True)
class QueryTime:
    """One query's seconds."""

    total: float
    model: float
    constraint: float

    @property
    def search(self) -> float:
        """What is neither model nor constraint: choosing the best, merging, keeping the trail."""
        return self.total - self.model - self.constraint


class OurSearch:
    """tsgen's beam search for one query at a time, with its time taken apart."""

    def __init__(self, backbone: Any, constraint: Any, config: DecodeConfig) -> None:
        self.backbone, self.constraint = Timed(backbone), Timed(constraint)
        self._config = config
        self.times: list[QueryTime] = []

    @property
    def constraint_seconds(self) -> float:
        """All time spent on what may come next."""
        return sum(time.constraint for time in self.times)

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The k best documents with their log-likelihoods."""
        return [(hit.document, hit.score) for hit in self.found(query, k)]

    def found(self, query: str, k: int) -> list[Found]:
        """The k best documents with the paths to them."""
        self.backbone.take(), self.constraint.take()
        began = perf_counter()
        found = search(self.backbone, self.constraint, [query], k, self._config)[0]
        total = perf_counter() - began
        self.times.append(QueryTime(total, self.backbone.take(), self.constraint.take()))
        return found


def summary(times: Sequence[QueryTime]) -> dict[str, float]:
    """The figures of a table row; shares are of the summed time."""
    total = sum(time.total for time in times)
    return {
        "queries": len(times),
        "seconds": mean(time.total for time in times),
        "median": median(time.total for time in times),
        "model_share": sum(time.model for time in times) / total,
        "constraint_share": sum(time.constraint for time in times) / total,
        "search_share": sum(time.search for time in times) / total,
        "constraint_seconds": mean(time.constraint for time in times),
    }


def peak_gigabytes() -> float:
    """The most memory this process has held (resident, mapped files included).

    Not `getrusage`, whose peak includes that of the process which started this one.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    kibibytes = next(line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(kibibytes) / 2**20
