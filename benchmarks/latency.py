"""How long a query takes, and how long an engine takes to make, beside BM25 and MiniLM's cosine.

    python benchmarks/latency.py [DATA] [--queries 200] [--old] [--out docs/results]

Queries one at a time on one thread, all systems in turn in one run. The engine is made by `tsgen
index` with its default preset; making it is compared with reading every document once with MiniLM
at the same window. `--old` adds tsgen-mini, the preset `mini`, which takes minutes more to make.
"""

import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.config import preset
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.queries.lexical import LexicalIndex
from tsgen.retrieve.build import index_config, index_documents
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.systems import SYSTEMS

Answer = Callable[[str], object]
K = 10


def main() -> None:
    """Make the systems, time them in turn, print and write."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default="stdlib:")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--old", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    data = load(options.data)
    queries = [data.queries()[id].text for id in data.judgments("test")][: options.queries]
    with tempfile.TemporaryDirectory() as folder, progress():
        systems, notes = _systems(data, Path(folder), options.old)
        torch.set_num_threads(1)
        times = _times(systems, queries)
    table = _table(times, len(queries), {"documents": data.name} | notes)
    seconds = {name: values.tolist() for name, values in times.items()}
    publish(options.out / "latency", {"seconds": seconds, "notes": dict(table.notes)}, table)


def _systems(data: DataSet, folder: Path, old: bool) -> tuple[dict[str, Answer], dict[str, str]]:
    """Each as a function of the query, and notes on how long they took to make."""
    lexical = LexicalIndex.build(document.contents for document in data.documents())
    system = SYSTEMS.get("dense")
    (folder / "dense").mkdir()
    reading = _seconds(lambda: system.fit(data, system.settings({}), 0, folder / "dense"))
    dense = system.load(folder / "dense")
    making = _seconds(lambda: _make(data, "vectors", folder))
    engine = Engine.load(folder / "vectors")
    systems: dict[str, Answer] = {
        "BM25": lambda query: lexical.top_k([query], K),
        "MiniLM's cosine": lambda query: dense.search([query], K),
        "tsgen": lambda query: engine.search([query], K),
    }
    if old:
        _make(data, "mini", folder)
        mini = Engine.load(folder / "mini")
        systems["tsgen-mini"] = lambda query: mini.search([query], K)
    notes = {
        "MiniLM read the documents in": f"{reading:.0f} s",
        "tsgen made the engine in": f"{making:.0f} s, {making / reading:.2f} times as long",
    }
    return systems, notes


def _make(data: DataSet, name: str, folder: Path) -> None:
    """Make the engine of a preset from nothing."""
    index_documents(data, index_config(preset(name)), None, folder / name, folder / f"{name}-cache")


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _times(systems: dict[str, Answer], queries: list[str]) -> dict[str, np.ndarray]:
    """Seconds [Q] of each system; all of them answer a query before the next one comes."""
    for answer in systems.values():
        for query in queries[:20]:
            answer(query)
    times: dict[str, list[float]] = {name: [] for name in systems}
    for query in queries:
        for name, answer in systems.items():
            start = time.perf_counter()
            answer(query)
            times[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in times.items()}


def _table(times: dict[str, np.ndarray], queries: int, more: dict[str, str]) -> Table:
    reference = float(np.median(times["MiniLM's cosine"]))
    columns = [Column(name, "low", 1) for name in ("p50, ms", "p99, ms")]
    columns.append(Column("p50 / cosine", "low", 2))
    rows = []
    for name, values in times.items():
        p50, p99 = np.percentile(values, [50, 99])
        rows.append(Row(name, [1000 * p50, 1000 * p99, p50 / reference]))
    notes = {
        "queries": f"{queries}, one at a time, one thread",
    }
    notes |= more | made()
    return Table(columns, rows, "Time for a query without training", notes)


if __name__ == "__main__":
    main()
