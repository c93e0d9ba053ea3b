"""Do everything to an engine for as long as is wanted: do memory, open files and disk stay flat?

Documents are added, replaced, removed and erased, queries searched, the engine compacted, backed up
and, every now and then, replaced by another one while it is open, which must be noticed.

    python benchmarks/endurance.py [--minutes 5] [--json FILE]
"""

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import tsgen
from chaos_kit.engines import QUERIES, WORDS, documents, make, options
from tsgen.errors import ReplacedError
from tsgen.records import Document
from tsgen.retrieve.backup import backup
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.repair import check

MOST = 120  # documents at the most
SAMPLES = 60  # of memory, files and disk in a run
WARM = 0.2  # the share of the run that is not looked at: caches fill


class Load:
    """Everything that is done to one engine, and what became of it."""

    def __init__(self, work: Path, seed: int) -> None:
        self.work, self.rng, self.counts = work, random.Random(seed), Counter[str]()
        self.folder = make(work)["fresh"]
        self.engine = Engine.load(self.folder)
        self.texts = {one.id: one.text for one in self.engine}
        self.wrong: list[str] = []

    def step(self) -> None:
        """Do one thing, chosen at random."""
        works = {
            self.search: 60,
            self.add: 25,
            self.remove: 15,
            self.compact: 3,
            self.erase: 1,
            self.copy: 1,
            self.reopen: 2,
            self.replace: 0.5,
        }
        (work,) = self.rng.choices(list(works), list(works.values()))
        work()
        self.counts[work.__name__] += 1

    def search(self) -> None:
        """Ask something, and read what was found."""
        for hit in self.engine.search(self.rng.choice(QUERIES), 5):
            if self.engine.document(hit.document_id).text != self.texts[hit.document_id]:
                self.wrong.append(f"{hit.document_id}: another text")

    def add(self) -> None:
        """Add or replace up to ten documents."""
        ids = {f"n-{self.rng.randrange(MOST)}" for _ in range(self.rng.randint(1, 10))}
        new = [Document(id, " ".join(self.rng.choices(WORDS, k=6)), "New") for id in sorted(ids)]
        self.engine.add(new)
        self.texts |= {one.id: one.text for one in new}

    def remove(self) -> None:
        """Remove up to five documents."""
        gone = self._some(5)
        self.engine.remove(gone)

    def erase(self) -> None:
        """Erase a document."""
        self.engine.erase(self._some(1))

    def _some(self, most: int) -> list[str]:
        known = sorted(self.texts)
        gone = self.rng.sample(known, min(most, max(len(known) - 20, 0)))
        for id in gone:
            del self.texts[id]
        return gone

    def compact(self) -> None:
        """Compact the engine."""
        self.engine.compact()

    def copy(self) -> None:
        """Back the engine up, over the copy before."""
        backup(self.folder, self.work / "copy.tar")

    def reopen(self) -> None:
        """Close the engine, open it, compare all of it."""
        self.engine.close()
        self.engine = Engine.load(self.folder)
        if {one.id: one.text for one in self.engine} != self.texts:
            self.wrong.append("other documents than were acknowledged")

    def replace(self) -> None:
        """Put another engine in the folder's place while this one is open."""
        new = documents(self.rng.randrange(1000), 40, seed=self.counts["replace"] % 3)
        tsgen.index(new, out=self.folder, **options(self.work, small=True)).close()
        try:
            self.engine.add([Document("nobody", "amber")])
            if self.engine.folder.samefile(self.folder) and "nobody" not in Engine.load(
                self.folder
            ):
                self.wrong.append("a change went to an engine that nobody sees")
        except ReplacedError:
            self.counts["replacements noticed"] += 1
        self.engine.close()
        self.engine = Engine.load(self.folder)
        self.texts = {one.id: one.text for one in self.engine}


def sample(work: Path) -> dict[str, float]:
    """Memory of this process in MB, its open files, and the disk that the engine takes in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    sizes = [path.stat().st_size for path in (work / "fresh").rglob("*") if path.is_file()]
    return {
        "memory": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        "files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "disk": sum(sizes) / 1e6,
    }


def growth(samples: list[dict[str, float]], name: str) -> float:
    """By how much a figure's line of least squares rises over the run, as a share of its mean."""
    values = np.array([one[name] for one in samples[int(WARM * len(samples)) :]])
    slope = np.polyfit(np.arange(len(values)), values, 1)[0] if len(values) > 2 else 0.0
    return round(float(slope * len(values) / values.mean()), 4)


def main() -> int:
    """Run, print the figures; the exit code is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    samples = list[dict[str, float]]()
    with TemporaryDirectory() as folder:
        work = Path(folder)
        load, began = Load(work, chosen.seed), time.monotonic()
        while (passed := time.monotonic() - began) < 60 * chosen.minutes:
            load.step()
            if passed > len(samples) * 60 * chosen.minutes / SAMPLES:
                samples.append(sample(work))
        load.engine.close()
        problems = load.wrong + check(load.folder).problems
    figures: dict[str, Any] = {
        "minutes": chosen.minutes,
        "done": dict(load.counts),
        "problems": problems,
        "growth": {name: growth(samples, name) for name in samples[0]},
        "first": samples[int(WARM * len(samples))],
        "last": samples[-1],
        "samples": samples,
    }
    print(json.dumps({k: v for k, v in figures.items() if k != "samples"}, indent=1))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=1) + "\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
