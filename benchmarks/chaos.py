"""Everything that must not lose, damage or falsify an engine's documents, tried on purpose.

- `kills`: kill −9 of processes that change an engine; every acknowledged change must be there.
- `deaths`: every operation dies at scripted points; the old or the new must be there, whole.
- `damage`: damaged bytes in every file of a fresh, a changed and a compacted engine: no crash, no
  traceback, no wrong answer; and what is repaired is whole.
- `disk`: files that cannot grow, a disk that is full, a disk that cannot be written.
- `copies`: backups of an engine that is changed and compacted meanwhile.
- `opens`: engines opened during their first compaction.

    python benchmarks/chaos.py [--only damage,deaths] [--quick] [--json FILE]

With --json, the parts that were run are replaced in FILE and the others stay.
"""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnxruntime  # noqa: F401  (imported once, before the many forks)
import torch

import tsgen.model.generator
import tsgen.model.term_vectors
import tsgen.retrieve.vector_search  # noqa: F401
from chaos_kit import damage, deaths, kills, together
from chaos_kit.engines import answers, linked, make
from chaos_kit.forked import run

Parts = dict[str, Callable[[], Any]]


def engines_in(folder: Path, small: bool) -> dict[str, Path]:
    """Engines in three states, made by another process: this one stays fit to be forked."""
    folder.mkdir(exist_ok=True)
    made = run(lambda: make(folder, small))
    if made.how != "done":
        raise SystemExit(f"no engines: {made.how} {made.value}")
    return dict(made.value)


def parts(work: Path, quick: bool, seed: int) -> Parts:
    """What can be tried, by name; `quick` takes a minute or two for all."""
    engines = engines_in(work / "small", small=True)
    list(answers(linked(engines["changed"], work / "warm")))  # forks inherit compiled kernels

    def place(name: str) -> Path:
        (work / name).mkdir(exist_ok=True)
        return work / name

    changed, fresh = engines["changed"], engines["fresh"]

    def killing() -> Any:
        folder = place("kills") / "engine"
        shutil.copytree(fresh, folder)
        return kills.torment(folder, 9 if quick else 300, seed)

    hows = ("a bit", "missing") if quick else damage.HOWS
    points = 3 if quick else 30
    return {
        "kills": killing,
        "deaths": lambda: deaths.torment(engines, place("deaths"), points),
        "damage": lambda: damage.torment(engines, place("damage"), seed, hows),
        "damage, default engine": lambda: damage.torment(
            engines_in(work / "default", small=False), place("damage"), seed, hows[:1]
        ),
        "disk": lambda: together.full_disk(changed, place("disk"), 3 if quick else 14),
        "small disk": lambda: together.small_disk(changed, place("small")),
        "copies": lambda: together.copies(changed, place("copies"), 5 if quick else 100),
        "opens": lambda: together.opens(fresh, place("opens"), 50 if quick else 1000, seed),
    }


def main() -> int:
    """Run, print the counts as JSON; the exit code is 1 if anything was lost."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="names of parts, separated by semicolons")
    parser.add_argument("--quick", action="store_true", help="a few of each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    figures: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        work = Path(folder)
        tried = parts(work, options.quick, options.seed)
        for name in options.only.split(";") if options.only else tried:
            began = time.monotonic()
            figures[name] = tried[name]().as_json()
            figures[name]["seconds"] = round(time.monotonic() - began)
            print(f"{name}: {figures[name]['seconds']} s", file=sys.stderr)
            _keep(options.json, name, figures[name])
    print(json.dumps(figures, indent=1))
    return int(not all(part["clean"] for part in figures.values()))


def _keep(file: Path | None, name: str, figures: dict[str, Any]) -> None:
    """Put the figures of one part into the file, beside those of others."""
    if file is not None:
        known = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(known | {name: figures}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
