"""Time and memory of a query against the number of documents: the default search, all of it.

    python benchmarks/growth.py [--sets 10000x12,100000x12,…] [--quick] [--resume] [--cache DIR]
                                [--out docs/results]

Synthetic sets (see speed_kit/synthetic.py) through the search that `tsgen search` uses: encoder,
first stage, ranking of its pool, reasons. One query at a time, one thread, a process for each size.
At 10,000,000 documents the arrays take 6 GB of disk (12 terms), 14 GB (48 terms), and writing them
takes as much memory. Writes growth.json, growth.md and growth.png.
"""

from argparse import ArgumentParser, Namespace
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from decoding_kit.journal import Journal
from speed_kit.processes import ONE_THREAD, peak_megabytes, status_megabytes
from speed_kit.synthetic import words, write_engine
from tsgen.cli.publishing import made, publish
from tsgen.config import preset
from tsgen.decode.first_stage import FirstStage
from tsgen.docids.term_set import TermSets
from tsgen.evaluate.plots import line_plot
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.model.term_table import TermTable
from tsgen.retrieve.build import index_config
from tsgen.retrieve.vector_search import Encoders, VectorSearch

ROOT = Path(__file__).resolve().parents[1]
SIZES, TERMS = (10_000, 100_000, 1_000_000, 10_000_000), (12, 48)
QUERIES, WORDS, K, WARM = 300, 4, 10, 50
TARGET_TIMES, TARGET_BYTES = 2.0, 150.0  # at the most documents; a document, for sets of 12 terms


def main() -> None:
    """Measure, print and write."""
    options = _arguments()
    setting = {"queries": options.queries}
    journal = Journal(options.cache / "growth-journal.jsonl", setting, options.resume)
    rows = [
        journal.once(f"{documents} × {n}", partial(measure, options, documents, n))
        for documents, n in options.sets
    ]
    series = dict[str, tuple[list[int], list[float]]]()
    for n in dict.fromkeys(n for _, n in options.sets):
        own = [row for row in rows if row["n"] == n]
        series[f"{n} terms"] = [r["documents"] for r in own], [r["processor_p50_ms"] for r in own]
    title = "Median processor time of a query, ms"
    line_plot(options.out / "growth.png", series, title=title, x="documents", log_x=True)
    figures = {"rows": rows} | made()
    publish(options.out / "growth", figures, _table(rows), picture="growth.png")


def _arguments() -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=_sets, default=[(d, n) for n in TERMS for d in SIZES])
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--quick", action="store_true", help="up to 100,000 documents")
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted run")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "benchmarks" / "growth")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    options = parser.parse_args()
    if options.quick:
        options.sets = [(documents, n) for documents, n in options.sets if documents <= 100_000]
    return options


def _sets(text: str) -> list[tuple[int, int]]:
    """The numbers of documents and of terms in, say, 10000x12,100000x12."""
    pairs = [part.split("x") for part in text.split(",")]
    return [(int(documents), int(n)) for documents, n in pairs]


def measure(options: Namespace, documents: int, n: int) -> dict[str, Any]:
    """The figures of one size; writing and searching each have a process of their own."""
    folder = _alone(write_engine, options.cache, documents, n)
    found: dict[str, Any] = _alone(_searched, folder, documents, n, options.queries)
    print(f"  {documents:>10,} × {n}: p50 {found['p50_ms']:.2f} ms, {found['peak_mb']:,.0f} MB")
    return found


def _alone(work: Any, *args: Any) -> Any:
    """Run in a fresh process on one thread, so that its peak of memory is its own."""
    with ProcessPoolExecutor(1, get_context("spawn"), _one_thread) as pool:
        return pool.submit(work, *args).result()


def _one_thread() -> None:
    import os

    os.environ.update(ONE_THREAD)


def _searched(folder: Path, documents: int, n: int, queries: int) -> dict[str, Any]:
    config = index_config(preset("vectors"))
    began = perf_counter()
    encoders = Encoders.open(folder / "model", config.model)
    assert encoders is not None
    sets = TermSets.load(folder / "terms")
    stage = FirstStage.load(folder / "terms", documents)
    search = VectorSearch(encoders, TermTable.open(folder / "model"), sets, stage)
    search.prepare()
    loading, before = perf_counter() - began, peak_megabytes()
    rng, spelled, times = np.random.default_rng(1), words(), list[tuple[float, float, float]]()
    for _ in range(WARM + queries):
        terms = rng.choice(sets.terms(int(rng.integers(documents))), min(WORDS, n), replace=False)
        text = " ".join(spelled[term] for term in terms)
        used = process_time()
        encoders.query_vectors([text])
        read, used, began = process_time() - used, process_time(), perf_counter()
        (found,) = search([text], K, config.decode)
        times.append((perf_counter() - began, process_time() - used, read))
        assert len(found) == K
    seconds, processor, reading = (
        1000 * np.array(column) for column in zip(*times[WARM:], strict=True)
    )
    p50, p99 = np.percentile(seconds, [50, 99])
    peak = peak_megabytes()
    return {
        "documents": documents,
        "n": n,
        "p50_ms": float(p50),
        "p99_ms": float(p99),
        "processor_p50_ms": float(np.median(processor)),
        "encoder_p50_ms": float(np.median(reading)),
        "load_s": loading,
        "loaded_mb": before,
        "own_mb": status_megabytes("RssAnon"),
        "peak_mb": peak,
        "disk_mb": sum(path.stat().st_size for path in folder.rglob("*.npy")) / 2**20,
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    columns = {
        "p50_ms": Column("p50, ms", None, 2),
        "p99_ms": Column("p99, ms", None, 2),
        "processor_p50_ms": Column("processor p50, ms", None, 2),
        "encoder_p50_ms": Column("of it encoder, ms", None, 2),
        "times": Column("times the smallest", None, 2),
        "load_s": Column("load, s", None, 2),
        "own_mb": Column("own memory, MB", None, 0),
        "bytes": Column("own, bytes a document", None, 1),
        "peak_mb": Column("peak with mapped files, MB", None, 0),
        "disk_mb": Column("disk, MB", None, 0),
    }
    lines = []
    for row in rows:
        smallest = min((r for r in rows if r["n"] == row["n"]), key=lambda r: r["documents"])
        more = row["documents"] - smallest["documents"]
        grown = 2**20 * (row["own_mb"] - smallest["own_mb"]) / more if more else None
        times = row["processor_p50_ms"] / smallest["processor_p50_ms"]
        own = row | {"times": times, "bytes": grown}
        label = f"{row['documents']:,} × {row['n']}"
        lines.append(Row(label, [own[name] for name in columns]))
    notes = {
        "sets": "synthetic, terms drawn by Zipf's law from 32,000, a random vector a document",
        "query": f"{WORDS} words of a document, one at a time, one thread, k = {K}",
        "processor": "time of the one thread, whatever else the machine does",
        "own memory": "what the process holds after all queries, without the pages of mapped "
        "files, which the system takes back when it needs them; bytes a document are what it has "
        "more than at the smallest size",
        "targets": f"{TARGET_TIMES:g} times the time at the smallest size, {TARGET_BYTES:g} bytes",
    }
    return Table(list(columns.values()), lines, "Growth", notes | made(), "documents × terms")


if __name__ == "__main__":
    main()
