"""How long a query takes without training: tsgen-mini at beam 10 and by its set prior alone, beside
BM25 and a dense search with MiniLM, one query at a time on one thread, in one run.

    python benchmarks/latency.py [DATA] [--queries 200] [--out docs/results]

The engine is made first, by the preset `mini` on all cores; how long that takes is in the table's
notes.
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
from tsgen.decode.search import search_by_prior
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.queries.lexical import LexicalIndex
from tsgen.retrieve.build import index_config, index_documents
from tsgen.retrieve.engine import Engine
from tsgen.synthetic.round_trip import DenseFinder

Answer = Callable[[str], object]
K = 10


def main() -> None:
    """Make the systems, time them in turn, print and write."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default="stdlib:")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    data = load(options.data)
    queries = [data.queries()[id].text for id in data.judgments("test")][: options.queries]
    with tempfile.TemporaryDirectory() as folder, progress():
        systems, indexing = _systems(data, Path(folder))
        torch.set_num_threads(1)
        times = _times(systems, queries)
    table = _table(times, len(queries), f"{indexing:.0f} s for {data.name}")
    seconds = {name: values.tolist() for name, values in times.items()}
    publish(options.out / "latency", {"seconds": seconds, "notes": dict(table.notes)}, table)


def _systems(data: DataSet, folder: Path) -> tuple[dict[str, Answer], float]:
    """Each as a function of the query, and how long the engine took to make."""
    texts = [document.contents for document in data.documents()]
    lexical, dense = LexicalIndex.build(texts), DenseFinder(texts, folder)
    start = time.perf_counter()
    index_documents(data, index_config(preset("mini")), None, folder / "engine", folder / "cache")
    seconds = time.perf_counter() - start
    engine = Engine.load(folder / "engine")
    generator, config = engine.generator, engine.config.decode
    systems: dict[str, Answer] = {
        "BM25": lambda query: lexical.top_k([query], K),
        "MiniLM, dense": lambda query: dense.nearest([query], K),
        "tsgen-mini, beam 10": lambda query: engine.search([query], K, beam=10),
        f"tsgen-mini, beam {config.beam}": lambda query: engine.search([query], K),
        "tsgen-mini, set prior": lambda query: search_by_prior(
            generator.backbone, generator.constraint, [query], K, config
        ),
    }
    return systems, seconds


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


def _table(times: dict[str, np.ndarray], queries: int, index: str) -> Table:
    reference = float(np.median(times["MiniLM, dense"]))
    columns = [Column(name, "low", 1) for name in ("p50, ms", "p99, ms")]
    columns.append(Column("p50 / dense", "low", 2))
    rows = []
    for name, values in times.items():
        p50, p99 = np.percentile(values, [50, 99])
        rows.append(Row(name, [1000 * p50, 1000 * p99, p50 / reference]))
    notes = {
        "queries": f"{queries}, one at a time, one thread",
        "engine made in": index,
    } | made()
    return Table(columns, rows, "Time for a query without training", notes)


if __name__ == "__main__":
    main()
