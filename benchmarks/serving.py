"""The server under load, beside an earlier revision of itself in the same run.

    python benchmarks/serving.py [DATA] [--peer REVISION] [--clients 32] [--seconds 60]
                                 [--writes 0.05] [--quick] [--out docs/results]

Makes an engine of DATA with `tsgen index` as it is by default, and one with the code of --peer, a
commit of this repository, as that was by default; engines made before are taken from --cache. Then
starts `tsgen serve` on a copy of each in turn: this revision with searches of different clients
answered together, the same one after the other (--limit batch=1), and the peer. Clients ask as fast
as the answers come; one who asks alone is measured, too. `processor ms`
is the processor time of the server divided by the searches, writes included; it hardly depends on
what else the machine does. Prints the figures, and writes serving.json and serving.md to --out, if
given.
"""

import argparse
import json
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import numpy as np

from serving_kit.engine import engine_copy
from serving_kit.load import Clients, Load
from serving_kit.revision import ROOT, Code, revision, sample_texts
from serving_kit.server import Server, running
from tsgen.corpus.load import load

FASTER, SOONER = 8.0, 0.25  # as many searches a second, and p99, in proportion to the peer's
FLAT = 0.05  # of the memory in use: what may be added in the second half
QUERIES = 500
ALONE = 5.0  # seconds for a client who asks alone


@dataclass(frozen=True)
class Case:
    """What is served, and how."""

    name: str
    code: Code
    engine: Path
    limits: tuple[str, ...] = ()


def measure(case: Case, clients: Clients, options: argparse.Namespace) -> dict[str, Any]:
    """One server, warmed up, then with one client, then under load."""
    limits = [part for limit in (*case.limits, "seconds=120") for part in ("--limit", limit)]
    with TemporaryDirectory() as folder:
        engine = engine_copy(case.engine, Path(folder))
        log, own = Path(folder) / "log", case.code.environment
        with running(engine, log, *limits, environment=own) as server:
            Clients(**vars(clients) | {"count": 1}).run(server, min(2.0, options.warm_up))
            alone = Clients(**vars(clients) | {"count": 1, "writes": 0.0}).run(server, ALONE)
            clients.run(server, options.warm_up)
            under_load = clients.run(server, options.seconds)
            return figures(case, under_load, alone) | {"queries_together": together(server)}


def figures(case: Case, load: Load, alone: Load) -> dict[str, Any]:
    """Of the whole time."""
    half = len(load.memory) // 2
    megabytes = np.array([value for _, value in load.memory])
    before, after = np.median(megabytes[:half]), np.median(megabytes[half:])
    return {
        "name": case.name,
        "revision": case.code.name,
        "searches_per_second": len(load.searches) / load.seconds,
        "search": percentiles(load.searches),
        "write": percentiles(load.writes),
        "alone": percentiles(alone.searches),
        "processor_ms": 1000 * load.processor / max(1, len(load.searches)),
        "errors": len(load.errors) + len(alone.errors),
        "first_errors": (load.errors + alone.errors)[:3],
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


def targets(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """This revision beside the peer: the first run and the last."""
    ours, peer = runs[0], runs[-1]
    faster = ours["searches_per_second"] / peer["searches_per_second"]
    sooner = ours["search"]["p99_ms"] / peer["search"]["p99_ms"]
    fine = not ours["errors"] and ours["memory_flat"]
    return {
        "times_as_many_searches": faster,
        "share_of_p99": sooner,
        "no_error_and_flat_memory": fine,
        "met": bool(faster >= FASTER and sooner <= SOONER and fine),
    }


def report(result: dict[str, Any]) -> str:
    """As Markdown."""
    rows = [
        f"| {r['name']} | {r['searches_per_second']:.1f} "
        f"| {r['search']['p50_ms']:,.0f} | {r['search']['p99_ms']:,.0f} "
        f"| {r['write'].get('p50_ms', 0):,.0f} | {r['write'].get('p99_ms', 0):,.0f} "
        f"| {r['alone']['p50_ms']:,.1f} "
        f"| {r['processor_ms']:.1f} | {r['queries_together']:.1f} | {r['errors']} "
        f"| {r['memory_mb'][0]:,.0f} → {r['memory_mb'][-1]:,.0f} |"
        for r in result["runs"]
    ]
    head = (
        "| server | searches a second | p50 ms | p99 ms | write p50 | write p99 | alone p50 "
        "| processor ms | queries a call | errors | memory MB |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n"
    )
    beside = ""
    if found := result.get("targets"):
        beside = (
            f" {found['times_as_many_searches']:.1f} times as many searches a second as the peer "
            f"(target: {FASTER:g}), p99 {found['share_of_p99']:.2f} of its (target: {SOONER:g})."
        )
    return (
        f"# The server under load\n\nWritten by `python benchmarks/serving.py`: {result['about']}."
        f"{beside}\n\n" + head + "\n".join(rows) + "\n"
    )


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default="stdlib:")
    parser.add_argument("--peer", help="a commit of this repository")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warm-up", type=float, default=10)
    parser.add_argument("--writes", type=float, default=0.05)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="three seconds")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "benchmarks")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.warm_up = 3.0, 1.0
    return options


def main() -> None:
    """Measure and print."""
    options = arguments()
    data, cache = load(options.data), options.cache / "serving"
    queries, texts = sample_texts(data, QUERIES)
    clients = Clients(queries, texts, options.clients, options.writes, options.k)
    cache.mkdir(parents=True, exist_ok=True)
    runs = []
    with revision(None, cache) as code:
        engine = code.index(options.data, cache)
        cases = [Case("together", code, engine), Case("one by one", code, engine, ("batch=1",))]
        runs += [measure(case, clients, options) for case in cases]
    if options.peer:
        with revision(options.peer, cache) as code:
            case = Case(f"peer {code.name}", code, code.index(options.data, cache))
            runs.append(measure(case, clients, options))
    cores = f"{os.cpu_count()} cores ({platform.machine()})"
    result: dict[str, Any] = {
        "about": f"{data.name}, {options.clients} clients for {options.seconds:g} s, "
        f"{options.writes:.0%} writes, k = {options.k}, {cores}, revision {runs[0]['revision']}",
        "runs": runs,
    }
    if options.peer:
        result["targets"] = targets(runs)
    print(report(result))
    for run in runs:
        print(json.dumps({k: v for k, v in run.items() if k != "memory_mb"}))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "serving.json").write_text(json.dumps(result, indent=1) + "\n")
        (options.out / "serving.md").write_text(report(result))


if __name__ == "__main__":
    main()
