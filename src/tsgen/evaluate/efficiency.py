"""What a system costs (Table 5): bytes on disk and time per query, all measured in one run."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any

from tsgen.artifact import LOGS, MANIFEST
from tsgen.config import StageConfig
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.progress import show
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.storage import LINES, OFFSETS
from tsgen.retrieve.systems import System

BEAMS = (10, 100)
SAMPLE = 25  # queries, one at a time
DEPTH = 10  # hits of each
WEIGHTS = "*.safetensors"
TEXTS = {LINES, f"{OFFSETS}.npy", MANIFEST}  # to show, not to search


@dataclass(frozen=True, slots=True)
class Cost:
    """One system's."""

    system: str
    model_bytes: int
    index_bytes: int
    documents: int
    milliseconds: Mapping[int, float]  # beam → mean of a query; without a beam the same for all

    @property
    def bytes_per_document(self) -> float:
        """Of model and index together."""
        return (self.model_bytes + self.index_bytes) / self.documents


def measure_each(bench: Bench, rows: Iterable[tuple[str, System, StageConfig]]) -> list[Cost]:
    """The costs of systems by name, fitted unless the cache has them."""
    size, costs = sum(1 for _ in bench.data.documents()), []
    queries = [query.text for query in bench.queries]
    for name, each, settings in rows:
        folder, _ = bench.fit(each, settings)
        costs.append(measure(name, each.load(folder), folder, queries, size))
    return costs


def measure(name: str, retriever: Any, folder: Path, queries: Sequence[str], size: int) -> Cost:
    """Search for some queries with a retriever out of `folder`, over `size` documents."""
    generative = "beam" in signature(retriever.search).parameters
    asked = list(islice(queries, SAMPLE))
    times: dict[int, float] = {}
    for beam in BEAMS if generative else BEAMS[:1]:
        show(f"{name}: latency", len(times), len(BEAMS))
        times[beam] = _milliseconds(retriever, asked, {"beam": beam} if generative else {})
    return Cost(name, *_sizes(folder), size, {beam: times.get(beam, times[10]) for beam in BEAMS})


def _milliseconds(retriever: Any, queries: Sequence[str], options: Mapping[str, int]) -> float:
    """The mean time of a query, after a first one that loads what is loaded once."""
    retriever.search(queries[:1], DEPTH, **options)
    start = time.perf_counter()
    for query in queries:
        retriever.search([query], DEPTH, **options)
    return 1000 * (time.perf_counter() - start) / len(queries)


def _sizes(folder: Path) -> tuple[int, int]:
    """The bytes of models, which are folders with weights, and of all else but texts and logs."""
    models = {path.parent for path in folder.rglob(WEIGHTS)} - {folder}
    inside = {model: sum(path.stat().st_size for path in _files(model)) for model in models}
    loose = sum(path.stat().st_size for path in folder.glob(WEIGHTS))
    model = loose + sum(inside.values())
    return model, sum(path.stat().st_size for path in _files(folder)) - model


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in TEXTS and LOGS not in path.parts:
            yield path


def efficiency_table(costs: Sequence[Cost], title: str) -> Table:
    """Systems as rows; the first one is what ratios are to."""
    first = costs[0]
    columns = [Column("model MB", "low", 1), Column("index B/doc", "low", 0),
               Column("bytes/doc", "low", 0), Column("×", "low", 2)]  # fmt: skip
    for beam in BEAMS:
        columns += [Column(f"ms, beam {beam}", "low", 1), Column(f"×, beam {beam}", "low", 2)]
    notes = {
        "ms": f"mean of {SAMPLE} queries at most, one at a time, {DEPTH} hits; systems without a "
        "beam have one figure",
        "×": f"times the figure of {first.system}, measured in the same run",
    }
    return Table(columns, [_row(cost, first) for cost in costs], title, notes)


def _row(cost: Cost, first: Cost) -> Row:
    size = cost.bytes_per_document
    values = [cost.model_bytes / 1e6, cost.index_bytes / cost.documents, size]
    values.append(size / first.bytes_per_document)
    for beam, spent in cost.milliseconds.items():
        values += [spent, spent / first.milliseconds[beam]]
    return Row(cost.system, values)
