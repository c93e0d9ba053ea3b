"""Many inputs that no one should give: no traceback, no hang, no growth.

    python benchmarks/fuzz_inputs.py [--inputs 20000] [--seed 0] [--engine DIR] [--json FILE]

Broken versions of valid inputs go to every door: each loader and parser, settings, filters,
queries, and the files of an engine. An input must be read or refused with an error of tsgen's own,
within two seconds of this process' time. The exit code is 1 if something was found.
"""

import argparse
import json
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from fuzzing_kit.doors import Door, doors, outcome
from tsgen.retrieve.engine import Engine

PATIENCE = 2.0  # seconds of processor time for an input
GROWTH = 0.1  # of the memory after the first fifth of the inputs
ROUND = 500  # inputs between two readings of the memory


class Hang(BaseException):
    """An input took longer than it may; no door catches that."""


def _hang(*_: object) -> None:
    raise Hang


def run(every: list[Door], count: int, seed: int, work: Path) -> dict[str, Any]:
    """Give the doors their inputs in turn, and count what becomes of these."""
    rng = random.Random(seed)
    signal.signal(signal.SIGPROF, _hang)
    outcomes: dict[str, Counter[str]] = {}
    found, memory, slowest = list[str](), list[float](), (0.0, "")
    chosen = rng.choices(every, [door.share for door in every], k=count)
    for number, door in enumerate(chosen):
        data = door.input(random.Random(f"{seed} {number}"))
        with TemporaryDirectory(dir=work) as folder:
            began = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, PATIENCE * 5)  # beyond doubt
            try:
                what = outcome(door, data, Path(folder))
            except Hang:
                what = "hang"
            signal.setitimer(signal.ITIMER_PROF, 0)
            seconds = time.process_time() - began
        slowest = max(slowest, (seconds, door.name))
        known = what in ("read", "refused") and seconds <= PATIENCE
        outcomes.setdefault(door.name, Counter())[what if known else "found"] += 1
        if not known:
            found.append(f"{door.name} {number}: {what} ({seconds:.1f} s): {data[:80]!r}")
            print(found[-1], flush=True)
        if number % ROUND == ROUND - 1:
            print(f"{number + 1:,} inputs", flush=True)
            memory.append(psutil.Process().memory_info().rss / 2**20)
    growth = memory[-1] / memory[len(memory) // 5] - 1 if memory else 0.0
    return {
        "inputs": count,
        "seed": seed,
        "outcomes": {
            name: dict(sorted(counts.items())) for name, counts in sorted(outcomes.items())
        },
        "slowest_seconds": slowest[0],
        "slowest_door": slowest[1],
        "found": found[:20],
        "memory_mb": memory,
        "memory_growth": growth,
        "fine": not found and growth < GROWTH,
    }


def _made(work: Path) -> Path:
    from serving_kit.engine import made_engine

    return made_engine(work)


def main() -> int:
    """Fuzz and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", type=Path, help="a small one is made unless given")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        work = Path(folder)
        with Engine.load(options.engine or _made(work)) as engine:
            result = run(doors(engine), options.inputs, options.seed, work)
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if result["fine"] else 1


if __name__ == "__main__":
    sys.exit(main())
