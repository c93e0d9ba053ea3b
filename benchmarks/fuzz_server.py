"""Many requests that no one should send: no 5xx, no hang, no growth.

    python benchmarks/fuzz_server.py [--engine DIR] [--requests 20000] [--quick] [--json FILE]

Half of them are drawn by schemathesis from the server's OpenAPI description, valid and invalid
ones; the others are random bytes, broken HTTP and broken JSON. Without --engine a small one is
made. The exit code is 1 if something was found.
"""

import argparse
import json
import random
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

from serving_kit.engine import engine_copy
from serving_kit.hostile import hostile, send
from serving_kit.server import AUTHORIZED, TOKEN, Server, running

PATIENCE = 60.0  # seconds; no answer by then is an error of its own
HANG = 2.0  # seconds of the server's processor time for one request
ROUND = 500  # requests of either kind, then the other
GROWTH = 0.1  # of the memory after the first fifth of the requests


class Fuzz:
    """Counts what comes back."""

    def __init__(self, server: Server) -> None:
        self._server, self._http = server, httpx2.Client(base_url=server.address, timeout=PATIENCE)
        self.statuses: Counter[str] = Counter()
        self.found: list[str] = []
        self.memory: list[float] = []
        self.slowest = 0.0
        self._schema = schemathesis.openapi.from_url(f"{server.address}/openapi.json")

    def described(self, count: int, number: int) -> None:
        """Requests drawn from the description."""
        cases = [
            self._schema.as_strategy(generation_mode=mode)
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        ]

        @seed(number)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=st.one_of(cases))
        def one(case: Any) -> None:
            case.headers = {**(case.headers or {}), **AUTHORIZED}
            self._note(lambda: str(case.call(timeout=PATIENCE).status_code), f"{case.method}")

        one()

    def hostile(self, count: int, number: int) -> None:
        """Random bytes, broken HTTP, broken JSON."""
        rng = random.Random(number)
        for _ in range(count):
            request = hostile(rng, TOKEN)
            ask = partial(send, self._server.address, request, PATIENCE)
            self._note(lambda ask=ask: _status(ask()), repr(request))

    def _note(self, ask: Any, what: str) -> None:
        began = self._server.worked()
        try:
            status = ask()
        except Exception as error:
            status = type(error).__name__
        seconds = self._server.worked() - began
        self.slowest = max(self.slowest, seconds)
        if seconds > HANG:
            self.found.append(f"{seconds:.1f} seconds: {what[:500]}")
        self.statuses[status] += 1
        if status.startswith("5") or not (status.isdigit() or status == "closed"):
            self.found.append(f"{status}: {what[:500]}")


def _status(line: bytes) -> str:
    return line.split()[1].decode("latin-1") if line.startswith(b"HTTP/") else "closed"


def run(server: Server, requests: int) -> dict[str, Any]:
    """All requests, in rounds."""
    trace = {"query": "bread"}  # the first one loads the model, which takes seconds, once
    while httpx2.post(f"{server.address}/trace", json=trace, timeout=PATIENCE).status_code == 408:
        print("waiting for the model", flush=True)
    fuzz = Fuzz(server)
    for number in range(max(1, requests // (2 * ROUND))):
        size = min(ROUND, requests // 2)
        fuzz.described(size, number)
        fuzz.hostile(size, number)
        fuzz.memory.append(server.memory())
        print(f"{sum(fuzz.statuses.values()):,} requests, {fuzz.memory[-1]:.0f} MB", flush=True)
    alive = httpx2.get(f"{server.address}/ready").status_code == 200
    settled = fuzz.memory[len(fuzz.memory) // 5]
    growth = fuzz.memory[-1] / settled - 1
    return {
        "requests": sum(fuzz.statuses.values()),
        "statuses": dict(sorted(fuzz.statuses.items())),
        "slowest_seconds": fuzz.slowest,
        "found": fuzz.found[:20],
        "errors_in_log": server.errors()[:20],
        "memory_mb": fuzz.memory,
        "memory_growth": growth,
        "fine": bool(alive and not fuzz.found and not server.errors() and growth < GROWTH),
    }


def main() -> int:
    """Fuzz and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", type=Path)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--quick", action="store_true", help="400 requests")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    requests = 400 if options.quick else options.requests
    with TemporaryDirectory() as folder:
        engine = engine_copy(options.engine, Path(folder))
        limits = ("--limit", "beam=20", "--limit", "k=20", "--limit", "queries=4")
        with running(engine, Path(folder) / "log", *limits) as server:
            result = run(server, requests)
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if result["fine"] else 1


if __name__ == "__main__":
    sys.exit(main())
