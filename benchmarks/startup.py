"""How long a command, a new process and a query take before anything is warm, and after.

    python benchmarks/startup.py ENGINE [--query TEXT] [--times 7] [--out docs/results]

Each row runs in processes of its own, which find their files in the disk's cache: importing the
libraries, opening an engine, the first search, the commands alone and beside a `tsgen serve` of the
engine. Then one process measures a query at a time on one thread: reading it with MiniLM by torch
and by ONNX Runtime, and searching the engine by vectors and by the whole model. Seconds of the
clock are the least of all times, since other work on the machine only adds to them; those of the
processor are the median.
"""

import json
import os
import resource
import shlex
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from tsgen.cli.publishing import made, publish
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.serve.local import SearchRequest, ask

Seconds = tuple[float, float]
"""Of the clock, and of the processor."""

OPENED = """
import time
start = time.perf_counter(), time.process_time()
from tsgen.retrieve.engine import Engine
imported = time.perf_counter(), time.process_time()
engine = Engine.load({engine!r})
opened = time.perf_counter(), time.process_time()
engine.search({query!r}, 5)
searched = time.perf_counter(), time.process_time()
import json
steps = (start, imported), (imported, opened), (opened, searched)
print(json.dumps([[b - a for a, b in zip(*step)] for step in steps]))
"""
STEPS = ("importing tsgen.retrieve.engine", "Engine.load", "the first search")
LIBRARIES = ("numpy", "onnxruntime", "numba", "torch", "transformers")


def main() -> None:
    """Measure, print and write."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("engine", type=Path)
    parser.add_argument("--query", default="who wrote the novel about vampires")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    processes = _processes(options.engine, options.query, options.times)
    queries = _queries(options.engine, options.query, 30 * options.times)
    notes = {"times": str(options.times)} | made()
    tables = _process_table(processes, notes), _query_table(queries, notes)
    figures = {"processes": processes, "queries": queries, "notes": notes}
    publish(options.out / "startup", figures, *tables)


def _processes(engine: Path, query: str, times: int) -> dict[str, list[Seconds]]:
    """Clock and processor seconds of everything that begins with a new process."""
    python, search = [sys.executable, "-c"], [*_tsgen(), "search", str(engine), query]
    commands = {f"import {name}": [*python, f"import {name}"] for name in LIBRARIES}
    code = f"import tsgen; tsgen.Engine.load({str(engine)!r}).search({query!r}, 5)"
    commands = {"python alone": [*python, ""]} | commands
    commands |= {
        "a new process to its first hits": [*python, code],
        "tsgen --help": [*_tsgen(), "--help"],
        "tsgen search of no engine: an error": [*_tsgen(), "search", "nowhere", query],
        "tsgen search": search,
    }
    found: dict[str, list[Seconds]] = {}
    for _ in range(times):
        for name, command in commands.items():
            found.setdefault(name, []).append(_run(command)[0])
        _, printed = _run([*python, OPENED.format(engine=str(engine), query=query)])
        for name, seconds in zip(STEPS, json.loads(printed), strict=True):
            found.setdefault(name, []).append(tuple(seconds))
    with _served(engine):
        asked = [_run(search)[0] for _ in range(times)]
    return found | {"tsgen search, served": asked}


def _tsgen() -> list[str]:
    return [sys.executable, "-m", "tsgen"]


def _run(command: Sequence[str]) -> tuple[Seconds, bytes]:
    """Run a command: clock and processor seconds, and what it printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ran = subprocess.run(command, capture_output=True, check=False)
    clock = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if ran.returncode and "nowhere" not in command:
        raise SystemExit(f"{shlex.join(command)}: {ran.stderr.decode()}")
    return (clock, processor), ran.stdout


@contextmanager
def _served(engine: Path) -> Iterator[None]:
    """A server of the engine that answers the command."""
    server = subprocess.Popen(
        [*_tsgen(), "serve", str(engine), "--port", "0"], stderr=subprocess.DEVNULL
    )
    try:
        while ask(engine, SearchRequest(["warm up"], 1)) is None:
            if server.poll() is not None:
                raise SystemExit(f"tsgen serve {engine} ended; see what it says by itself")
            time.sleep(0.2)
        yield
    finally:
        server.terminate()
        server.wait()


def _queries(engine: Path, query: str, times: int) -> dict[str, list[Seconds]]:
    """Clock and processor seconds of one query at a time on one thread, all ways in turn."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    from tsgen.retrieve.engine import Engine
    from tsgen.settings import MINILM
    from tsgen.terms.encoder import load_encoder
    from tsgen.terms.sentence_vectors import sentence_vectors
    from tsgen.terms.text_encoder import OnnxEncoder

    torch.set_num_threads(1)
    encoder, tokenizer = load_encoder(MINILM)
    encoder.eval()
    ways: dict[str, Callable[[str], object]] = {
        "MiniLM by torch": lambda text: sentence_vectors(encoder, tokenizer, [text], 64)
    }
    for form, name in (("float32", "float32"), ("blocks", "8-bit blocks")):
        graph = OnnxEncoder.of(encoder, tokenizer, form)
        assert graph is not None
        ways[f"MiniLM by ONNX Runtime, {name}"] = lambda text, g=graph: g.vectors([text], 64)
    opened = Engine.load(engine)
    whole = replace(opened.snapshot, by_vectors=None)
    ways["tsgen, by vectors"] = lambda text: opened.search(text, 10)
    ways["tsgen, by the whole model"] = lambda text: whole.search([text], 10)
    found: dict[str, list[Seconds]] = {name: [] for name in ways}
    words = query.split()
    for number in range(-5, times):
        text = " ".join(words[number % len(words) :] + words[: number % len(words)])
        for name, way in ways.items():
            start = time.perf_counter(), time.process_time()
            way(text)
            end = time.perf_counter(), time.process_time()
            if number >= 0:
                found[name].append((end[0] - start[0], end[1] - start[1]))
    return found


def _process_table(found: dict[str, list[Seconds]], notes: dict[str, str]) -> Table:
    columns = [Column("clock, s", "low", 2), Column("processor, s", "low", 2)]
    rows = [
        Row(name, [min(clock for clock, _ in all_), median(cpu for _, cpu in all_)])
        for name, all_ in found.items()
    ]
    return Table(columns, rows, "From a new process", notes, "what")


def _query_table(found: dict[str, list[Seconds]], notes: dict[str, str]) -> Table:
    names = ("p50, ms", "processor p50, ms", "processor p99, ms", "/ MiniLM by torch")
    columns = [Column(name, "low", 2) for name in names]
    reference = float(np.median([cpu for _, cpu in found["MiniLM by torch"]]))
    rows = []
    for name, seconds in found.items():
        clock, cpu = 1000 * np.array(seconds).T
        p50, p99 = np.percentile(cpu, [50, 99])
        values = [float(np.median(clock)), float(p50), float(p99), float(p50) / reference / 1000]
        rows.append(Row(name, values))
    return Table(columns, rows, "One query at a time, one thread", notes, "what")


if __name__ == "__main__":
    main()
