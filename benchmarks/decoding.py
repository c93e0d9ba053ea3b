"""What permutation-invariant decoding costs: time, the constraint's share, memory, growth.

    python benchmarks/decoding.py [--quick] [--out docs/results] [--data DIR] [--only growth,peers]

Real term sets (wikipages-110k, tf-idf, N = 12) with a briefly trained mini backbone in both
spellings; synthetic Zipf sets of up to 8.8 million documents; and two other ways to decode on the
same model and sets. Prints tables; writes decoding.json, decoding.md and plots to --out.
"""

import argparse
import os
import platform
import sys
from pathlib import Path
from typing import Any

import torch

from decoding_kit import report
from decoding_kit.growth import growth
from decoding_kit.peers import compare
from decoding_kit.real import latency, open_settings, shrinking
from decoding_kit.targets import targets
from tsgen.decode.config import DecodeConfig

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("latency", "shrinking", "peers", "growth")
ABOUT = (
    "Written by `python benchmarks/decoding.py`. One query at a time, float32, CPU. The real sets "
    "are wikipages-110k's, 12 terms a document chosen by tf-idf; the backbone is `mini`, trained "
    "for a few minutes on titles and training queries so that its distributions are peaked, in "
    "both spellings: one symbol a term (`word`), or pieces closed by a comma (`subword`, the "
    "paper's). log p is over the model's full output, as in the paper, unless a row says `valid`: "
    "then it is over the terms that may come next, and no other logit is computed."
)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few queries")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "benchmarks")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, comma-separated")
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
    if {"latency", "shrinking", "peers"} & set(parts):
        _on_real_sets(figures, options, parts)
    if "growth" in parts:
        print("growth")
        sizes = [(10_000, 12), (100_000, 12), (1_000_000, 12), (8_800_000, 12), (8_800_000, 16)]
        sizes = sizes[:3] if quick else sizes
        rows = growth(options.cache, sizes, [10, 100], 5 if quick else 30, options.threads)
        figures["growth"] = rows
    figures["targets"] = targets(figures)
    return figures


def _on_real_sets(figures: dict[str, Any], options: argparse.Namespace, parts: list[str]) -> None:
    folder = options.data / "wikipages-110k"
    if not folder.is_dir():
        sys.exit(f"{folder}: no such folder; give the folder of the data sets with --data")
    steps = {"word": 60, "subword": 40} if options.quick else {"word": 500, "subword": 350}
    settings = open_settings(folder, options.cache, steps, 10 if options.quick else 100)
    for part in parts:
        print(part)
        if part == "latency":
            figures[part] = [latency(one, config) for config in _configs() for one in settings]
        if part == "shrinking":
            figures[part] = {one.kind: shrinking(one, 10) for one in settings}
        if part == "peers":
            few = [one.take(3 if options.quick else 20) for one in settings]
            figures[part] = [row for one in few for row in compare(one, 100)]


def _configs() -> list[DecodeConfig]:
    """Both definitions of log p: over the model's full output (the paper's), over what is valid."""
    return [
        DecodeConfig(beam=beam, normalise=over) for beam in (10, 100) for over in ("full", "valid")
    ]


def main() -> None:
    """Measure, print, write."""
    options = arguments()
    torch.set_num_threads(options.threads)
    report.write(measure(options), options.out)


if __name__ == "__main__":
    main()
