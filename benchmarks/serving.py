"""The server under load: latency, throughput, memory, and what batching across clients gains.

    python benchmarks/serving.py [--engine DIR] [--clients 32] [--seconds 60] [--writes 0.05]
                                 [--quick] [--out docs/results]

Starts `tsgen serve` on a copy of the engine, twice in one run: with searches of different clients
answered together, and one after the other (--limit batch=1). Clients ask as fast as the answers
come; queries are words of the collection's documents. Without --engine a small one is made, with an
untrained generator. Prints the figures, and writes serving.json and serving.md to --out, if given.
"""

import argparse
import json
import os
import platform
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import numpy as np

from serving_kit.engine import engine_copy, sample_texts
from serving_kit.load import Clients, Load
from serving_kit.server import Server, running

TARGET = 1.5  # times the throughput without batching
FLAT = 0.05  # of the memory in use: what may be added in the second half
QUERIES = 500


def measure(engine: Path, clients: Clients, options: argparse.Namespace, batch: int) -> Any:
    """One server, warmed up, then under load."""
    log = engine.parent / f"batch-{batch}.log"
    with running(engine, log, "--limit", f"batch={batch}", "--limit", "seconds=120") as server:
        clients.run(server, options.warm_up)
        load = clients.run(server, options.seconds)
        return figures(load, batch) | {"queries_together": together(server)}


def figures(load: Load, batch: int) -> dict[str, Any]:
    """Of the whole time."""
    half = len(load.memory) // 2
    megabytes = np.array([value for _, value in load.memory])
    before, after = np.median(megabytes[:half]), np.median(megabytes[half:])
    return {
        "batch": batch,
        "searches_per_second": len(load.searches) / load.seconds,
        "search": percentiles(load.searches),
        "write": percentiles(load.writes),
        "errors": len(load.errors),
        "first_errors": load.errors[:3],
        "memory_mb": [round(float(value), 1) for value in megabytes],
        "memory_growth": float(after / before - 1),
        "memory_flat": bool(after / before - 1 < FLAT),
    }


def percentiles(seconds: list[float]) -> dict[str, float]:
    """How many, and their times in milliseconds."""
    if not seconds:
        return {"count": 0}
    p50, p99 = np.percentile(seconds, [50, 99]) * 1000
    return {"count": len(seconds), "p50_ms": float(p50), "p99_ms": float(p99)}


def together(server: Server) -> float:
    """How many queries one call answered, on average."""
    text = httpx2.get(f"{server.address}/metrics").text
    found = dict(re.findall(r"^tsgen_batch_queries_(sum|count) (\S+)$", text, re.MULTILINE))
    return float(found["sum"]) / float(found["count"])


def report(result: dict[str, Any]) -> str:
    """As Markdown."""
    rows = [
        f"| {'together' if r['batch'] > 1 else 'one by one'} | {r['searches_per_second']:.1f} "
        f"| {r['search']['p50_ms']:,.0f} | {r['search']['p99_ms']:,.0f} "
        f"| {r['write'].get('p50_ms', 0):,.0f} | {r['write'].get('p99_ms', 0):,.0f} "
        f"| {r['queries_together']:.1f} | {r['errors']} "
        f"| {r['memory_mb'][0]:,.0f} → {r['memory_mb'][-1]:,.0f} |"
        for r in result["runs"]
    ]
    head = (
        "| searches | a second | p50 ms | p99 ms | write p50 | write p99 | queries a call | errors "
        "| memory MB |\n|---|---|---|---|---|---|---|---|---|\n"
    )
    return (
        f"# The server under load\n\nWritten by `python benchmarks/serving.py`: {result['about']}. "
        f"Searches together are {result['ratio']:.2f} times as many a second as one by one "
        f"(target: {TARGET}).\n\n" + head + "\n".join(rows) + "\n"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", type=Path)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warm-up", type=float, default=10)
    parser.add_argument("--writes", type=float, default=0.05)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="three seconds")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.warm_up = 3.0, 1.0

    with TemporaryDirectory() as folder:
        engine = engine_copy(options.engine, Path(folder))
        queries, texts = sample_texts(engine, QUERIES)
        clients = Clients(queries, texts, options.clients, options.writes, options.k)
        runs = [measure(engine, clients, options, batch) for batch in (options.batch, 1)]
    ratio = runs[0]["searches_per_second"] / runs[1]["searches_per_second"]
    fine = not any(run["errors"] for run in runs) and all(run["memory_flat"] for run in runs)
    result = {
        "about": f"{options.clients} clients for {options.seconds:g} s, {options.writes:.0%} "
        f"writes, k = {options.k}, {os.cpu_count()} cores ({platform.machine()})",
        "ratio": ratio,
        "target": TARGET,
        "met": bool(ratio >= TARGET and fine),
        "runs": runs,
    }
    print(report(result))
    for run in runs:
        print(json.dumps({k: v for k, v in run.items() if k != "memory_mb"}))
    if options.out:
        (options.out / "serving.json").write_text(json.dumps(result, indent=1) + "\n")
        (options.out / "serving.md").write_text(report(result))


if __name__ == "__main__":
    main()
