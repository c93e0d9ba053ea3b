"""A new user's path, timed: from a checkout and a folder of Markdown files to a search result.

    python benchmarks/new_user.py [--files docs] [--query TEXT] [--out docs/results]

Clones the checkout into an empty folder, makes an empty environment there, and runs the three
commands of docs/guides/zero-shot.md: install, index, search. Most of the time goes into the
download of torch. By default the files are this project's own documentation.
"""

import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path

from tsgen.cli.publishing import made, publish
from tsgen.evaluate.tables import Column, Row, Table

HOME = Path(__file__).resolve().parent.parent
QUERY = "add documents without training again"


def main() -> None:
    """Run, print and write."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=Path, default=HOME / "docs")
    parser.add_argument("--query", default=QUERY)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        steps, answer = walk(Path(folder), options.files.resolve(), options.query)
    print(answer)
    rows = [Row(label, [seconds]) for label, seconds in steps.items()]
    title = "A folder of Markdown files to a search result, from an empty clone"
    table = Table(
        [Column("seconds", best=None, decimals=1)], rows, title, notes=made(), label="command"
    )
    publish(options.out / "new-user", {"seconds": steps, "answer": answer} | made(), table)


def walk(folder: Path, files: Path, query: str) -> tuple[dict[str, float], str]:
    """The seconds of each command, and what the last one printed."""
    clone, python = folder / "tsgen", folder / "environment" / "bin"
    _run(folder, "git", "clone", "--quiet", HOME, clone)
    _run(folder, sys.executable, "-m", "venv", folder / "environment")
    install = (python / "pip", "install", "--quiet", "--constraint", "constraints.txt", ".")
    commands = {
        "pip install .": (clone, *install),
        "tsgen index notes --out engine": (folder, python / "tsgen", "index", files, "--out", "e"),
        'tsgen search engine "…"': (folder, python / "tsgen", "search", "e", query, "-k", "3"),
    }
    seconds, answer = {}, ""
    for label, (where, *command) in commands.items():
        since = time.perf_counter()
        answer = _run(where, *command)
        seconds[label] = time.perf_counter() - since
    return seconds, answer


def _run(folder: Path, *command: object) -> str:
    """What it printed; if it fails, its own words end this run."""
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr.decode())
    return done.stdout.decode()


if __name__ == "__main__":
    main()
