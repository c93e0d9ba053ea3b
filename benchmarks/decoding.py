"""What permutation-invariant decoding costs: time, the constraint's share, memory, growth.

    python benchmarks/decoding.py [--quick] [--out docs/results] [--data DIR] [--only growth,peers]
                                  [--resume]

Real term sets (wikipages-110k, tf-idf, N = 12) with a briefly trained mini backbone in both
spellings; synthetic Zipf sets of up to 8.8 million documents; and two other ways to decode on the
same model and sets. Prints tables; writes decoding.json, decoding.md and plots to --out.
"""

import argparse
import os
import platform
import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch

from decoding_kit import report
from decoding_kit.growth import growth
from decoding_kit.journal import Journal
from decoding_kit.measure import SEARCHES
from decoding_kit.peers import compare
from decoding_kit.real import latency, open_settings, shrinking
from decoding_kit.targets import targets

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("latency", "shrinking", "peers", "growth")
ABOUT = (
    "Written by `python benchmarks/decoding.py`. One query at a time, float32, CPU. The real sets "
    "are wikipages-110k's, 12 terms a document chosen by tf-idf; the backbone is `mini`, trained "
    "for a few minutes on titles and training queries so that its distributions are peaked, in "
    "both spellings: one symbol a term (`word`), or pieces closed by a comma (`subword`, the "
    "paper's). Three searches: `full`, log p over the model's full output, as in the paper; "
    "`valid`, over what may come next, and no other logit is computed; `sum`, as `valid`, and a "
    "document's score is the probability of all orders of its terms that the beam meets (the CPU "
    "presets')."
)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few queries")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "benchmarks")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, comma-separated")
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted run")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the chosen parts."""
    quick, parts = options.quick, options.only.split(",")
    figures: dict[str, Any] = {
        "about": ABOUT,
        "command": "python benchmarks/decoding.py" + (" --quick" if quick else ""),
        "machine": f"{platform.machine()}, {options.threads} threads, torch {torch.__version__}",
    }
    setting = {"quick": quick, "threads": options.threads}
    journal = Journal(options.cache / "decoding-journal.jsonl", setting, options.resume)
    if {"latency", "shrinking", "peers"} & set(parts):
        _on_real_sets(figures, options, parts, journal)
    if "growth" in parts:
        print("growth")
        largest = 1_000_000 if quick else 8_800_000
        sizes = (10_000, 100_000, 1_000_000, 8_800_000)
        figures["growth"] = [
            row
            for documents, n in product(sizes, (12, 16))
            if documents <= largest
            for row in journal.once(
                f"growth: {documents} × {n}",
                partial(growth, options.cache, documents, n, [10, 100], *_asked(options)),
            )
        ]
    figures["targets"] = targets(figures)
    return figures


def _asked(options: argparse.Namespace) -> tuple[int, int]:
    return (5 if options.quick else 12), options.threads


def _on_real_sets(
    figures: dict[str, Any], options: argparse.Namespace, parts: list[str], journal: Journal
) -> None:
    folder, quick = options.data / "wikipages-110k", options.quick
    if not folder.is_dir():
        sys.exit(f"{folder}: no such folder; give the folder of the data sets with --data")
    steps = {"word": 60, "subword": 40} if quick else {"word": 500, "subword": 350}
    settings = open_settings(folder, options.cache, steps, 10 if quick else 100)
    for part in parts:
        print(part)
        if part == "latency":
            some = [one.take(4 if quick else 30) for one in settings]
            figures[part] = [
                journal.once(f"latency: {one.kind}, {beam}, {kind}", partial(latency, *what))
                for what in product(some, (10, 100), SEARCHES)
                for one, beam, kind in [what]
            ]
        if part == "shrinking":
            figures[part] = {
                one.kind: journal.once(f"shrinking: {one.kind}", partial(shrinking, one, 10))
                for one in settings
            }
        if part == "peers":
            some = [one.take(3 if quick else 40) for one in settings]
            few = 2 if quick else 10
            figures[part] = [row for one in some for row in compare(one, 100, few, journal)]


def main() -> None:
    """Measure, print, write."""
    options = arguments()
    torch.set_num_threads(options.threads)
    report.write(measure(options), options.out)


if __name__ == "__main__":
    main()
