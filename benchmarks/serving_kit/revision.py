"""The engines to serve: what `tsgen index` of a revision makes of a data set.

A revision is a commit of this repository; its code is checked out beside it and runs by its path,
in the same Python, so that two revisions can be measured in one run.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from tsgen.corpus.dataset import DataSet
from tsgen.settings import WordsConfig
from tsgen.terms.words import Splitter

ROOT = Path(__file__).resolve().parents[2]
READ = 5000  # documents of which queries and texts are taken, at the most


@dataclass(frozen=True)
class Code:
    """The code of one revision."""

    name: str
    source: Path  # its folder `src`

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a process that runs this code."""
        return os.environ | {"PYTHONPATH": str(self.source)}

    def index(self, data: str, cache: Path) -> Path:
        """The engine that `tsgen index` makes with its default settings; it stays in `cache`."""
        folder = cache / f"{self.name}-{Path(data).name.rstrip(':')}"
        if not (folder / "settings.json").exists():
            command = [sys.executable, "-m", "tsgen", "index", data, "--out", str(folder)]
            own = self.environment | {"TSGEN_CACHE": str(cache / f"{self.name}-cache")}
            subprocess.run(command, env=own, check=True)
        return folder


@contextmanager
def revision(name: str | None, folder: Path) -> Iterator[Code]:
    """The code of a commit, checked out below `folder` for a while; None: the code as it is."""
    if name is None:
        yield Code(_short("HEAD"), ROOT / "src")
        return
    short = _short(name)
    place = folder / f"tsgen-{short}"
    _git("worktree", "add", "--detach", str(place), short)
    try:
        yield Code(short, place / "src")
    finally:
        _git("worktree", "remove", "--force", str(place))


def sample_texts(data: DataSet, count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Queries, and texts to write: the test queries of a data set that has such, else three to
    eight words of some documents; and the beginnings of others."""
    documents = list(islice(data.documents(), READ))
    rng, splitter = np.random.default_rng(seed), Splitter(WordsConfig())
    texts = [documents[i].contents[:2000] for i in rng.integers(len(documents), size=count)]
    known = data.queries() if "test" in data.splits else {}
    judged = [known[id].text for id in islice(data.judgments("test"), count)] if known else []
    if judged:
        return judged, texts
    queries = list[str]()
    while len(queries) < count:
        words = splitter.spellings(documents[int(rng.integers(len(documents)))].contents[:2000])
        if len(words) >= 3:
            length = min(len(words), int(rng.integers(3, 9)))
            queries.append(" ".join(rng.choice(words, length, replace=False)))
    return queries, texts


def _short(name: str) -> str:
    return _git("rev-parse", "--short=7", name)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()
