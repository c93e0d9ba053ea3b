"""Many queries at once: searches a second beside the encoder alone, on the same texts.

    python benchmarks/bulk.py DATA [DATA …] [--queries 2000] [--cache DIR] [--out docs/results]

The encoder alone reads the test queries in batches of about one length, as fast as it can;
`Engine.search` gets the same list, and so does `run_queries`, by which systems are evaluated and
compared. Processor time is the time that counts, since it does not depend on what else the machine
does; all take turns, three times. Writes bulk-DATA.json and bulk-DATA.md.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from speed_kit.systems import SUBJECTS
from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.corpus.load import load
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.records import Query
from tsgen.retrieve.bench import run_queries
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.vector_search import Encoders

ROOT = Path(__file__).resolve().parents[1]
TURNS, K, TARGET = 3, 10, 0.8
Work = Callable[[], object]


def main() -> None:
    """Measure, print and write."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "benchmarks" / "latency")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    options = parser.parse_args()
    for path in options.data:
        data = load(path)
        with progress():
            fitted = SUBJECTS["tsgen, vectors"].make(data, options.cache).fitted / "engine"
        known = data.queries()
        queries = [known[id] for id in data.judgments("test")][: options.queries]
        rows = measure(fitted, queries)
        table = _table(rows, {"queries": f"{len(queries):,} of {data.name}, k = {K}"})
        publish(options.out / f"bulk-{data.name}", {"rows": rows} | made(), table)


def measure(engine: Path, queries: list[Query]) -> dict[str, dict[str, float]]:
    """Queries a second of each way, by the clock and by processor time."""
    texts = [query.text for query in queries]
    with Engine.load(engine) as opened:
        encoders = Encoders.open(engine / "model", opened.config.model)
        if encoders is None:
            raise SystemExit(f"{engine}: no encoder as a graph, so there is nothing to compare")
        ways: dict[str, Work] = {
            "the encoder alone": lambda: encoders.query_vectors(texts),
            "Engine.search": lambda: opened.search(texts, K),
            "run_queries": lambda: run_queries(opened, queries, K),
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for turn in range(TURNS + 1):
            for name, work in ways.items():
                began, used = perf_counter(), process_time()
                work()
                if turn:  # the first one warms up
                    taken[name].append((perf_counter() - began, process_time() - used))
    rows: dict[str, dict[str, float]] = {}
    for name, times in taken.items():
        clock, processor = (len(texts) / median(column) for column in zip(*times, strict=True))
        rows[name] = {"clock": clock, "processor": processor}
    alone = rows["the encoder alone"]["processor"]
    for row in rows.values():
        row["share"] = row["processor"] / alone
    return rows


def _table(rows: dict[str, Any], notes: dict[str, str]) -> Table:
    columns = [
        Column("queries a second", "high", 0),
        Column("a second of processor time", "high", 0),
        Column("of the encoder alone", "high", 2),
    ]
    lines = [Row(name, [r["clock"], r["processor"], r["share"]]) for name, r in rows.items()]
    target = {"target": f"{TARGET:.0%} of the encoder alone"}
    return Table(columns, lines, "Many queries at once", notes | target | made())


if __name__ == "__main__":
    main()
