"""What a system costs (Table 5): bytes on disk and milliseconds per query.

Queries are searched for one at a time, after a first one that loads what is loaded once; generative
systems with a beam of 10 and of 100. All systems are measured anew in the same run, so that ratios
hold whatever the machine.
"""

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
SAMPLE = 25  # queries that are searched for, one at a time
DEPTH = 10  # hits of each query
WEIGHTS = "*.safetensors"
TEXTS = {LINES, f"{OFFSETS}.npy", MANIFEST}  # files to show hits, which no search needs


@dataclass(frozen=True, slots=True)
class Cost:
    """Size and latency of one system."""

    system: str
    model_bytes: int
    index_bytes: int
    documents: int
    milliseconds: Mapping[int, float]  # beam → mean per query; the same for all without a beam

    @property
    def bytes_per_document(self) -> float:
        """Bytes of model and index together, per document."""
        return (self.model_bytes + self.index_bytes) / self.documents


def measure_each(bench: Bench, rows: Iterable[tuple[str, System, StageConfig]]) -> list[Cost]:
    """Measure systems by name, each fitted unless the cache has it."""
    size, costs = sum(1 for _ in bench.data.documents()), []
    queries = [query.text for query in bench.queries]
    for name, each, settings in rows:
        folder, _ = bench.fit(each, settings)
        costs.append(measure(name, each.load(folder), folder, queries, size))
    return costs


def measure(name: str, retriever: Any, folder: Path, queries: Sequence[str], size: int) -> Cost:
    """Measure a retriever.

    Args:
        name: The system's name in tables.
        retriever: The loaded system.
        folder: Its folder, whose files are measured in bytes.
        queries: Queries to search for, of which the first 25 are used.
        size: How many documents there are.
    """
    generative = "beam" in signature(retriever.search).parameters
    sample = list(islice(queries, SAMPLE))
    times: dict[int, float] = {}
    for beam in BEAMS if generative else BEAMS[:1]:
        show(f"{name}: latency", len(times), len(BEAMS))
        times[beam] = _milliseconds(retriever, sample, {"beam": beam} if generative else {})
    return Cost(name, *_sizes(folder), size, {beam: times.get(beam, times[10]) for beam in BEAMS})


def _milliseconds(retriever: Any, queries: Sequence[str], options: Mapping[str, int]) -> float:
    """The mean time of a query in milliseconds, after a first one that is not measured."""
    retriever.search(queries[:1], DEPTH, **options)
    start = time.perf_counter()
    for query in queries:
        retriever.search([query], DEPTH, **options)
    return 1000 * (time.perf_counter() - start) / len(queries)


def _sizes(folder: Path) -> tuple[int, int]:
    """The bytes of models (folders with weights) and of the index: all else but texts and logs."""
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
    """Table 5: a row for each system, with ratios to the first one."""
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
