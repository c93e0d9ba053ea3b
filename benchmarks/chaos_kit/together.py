"""What happens at once: hot copies, racing opens, a full disk, a disk that cannot be written."""

import os
import random
import resource
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from chaos_kit.engines import QUERIES, WORDS, answers, contents, documents, linked, mounted
from chaos_kit.forked import Outcome, run
from tsgen.errors import TsgenError
from tsgen.records import Document
from tsgen.retrieve.backup import backup, restore
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.repair import check


@dataclass
class Together:
    """Counts by what was tried."""

    counts: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**self.counts, "bad": self.bad, "clean": not self.bad}


def copies(engine: Path, work: Path, number: int) -> Together:
    """Copy an engine that two processes change and one compacts; is every copy whole, and has it
    what was acknowledged before it was begun?"""
    found, folder = Together(), linked(engine, work / "engine")
    with _changing(folder, (_keep_adding, _keep_adding, _keep_compacting)):
        for turn in range(number):
            outcome = run(partial(_copy, folder, work, turn))
            found.counts["copies"] += 1
            if outcome.how == "done" and not outcome.value[0]:
                found.counts["usable"] += 1
                found.counts["documents"] += outcome.value[1]
            else:
                found.bad.append(f"copy {turn}: {outcome.how} {outcome.value}")
    return found


def _copy(folder: Path, work: Path, turn: int) -> tuple[list[str], int]:
    with Engine.load(folder) as engine:
        engine.add([Document(f"turn-{turn}", "amber", "Acknowledged")])
    file, back = work / f"{turn}.tar", work / f"back-{turn}"
    backup(folder, file)
    try:
        restore(file, back)
        problems = check(back).problems
        with Engine.load(back) as engine:
            if f"turn-{turn}" not in engine:
                problems.append("an acknowledged document is missing")
            if not engine.search("amber", 3):
                problems.append("finds nothing")
            return problems, len(engine)
    finally:
        file.unlink()
        shutil.rmtree(back, ignore_errors=True)


def opens(engine: Path, work: Path, number: int, seed: int = 0) -> Together:
    """Open engines while their first compaction, later ones and changes run."""
    found, rng = Together(), random.Random(seed)
    while found.counts["opens"] < number:
        folder = linked(engine, work / "engine")
        with _changing(folder, (_keep_compacting, _keep_adding)):
            time.sleep(rng.uniform(0, 0.2))
            outcome = run(partial(_open_often, folder))
        found.counts["rounds"] += 1
        if outcome.how == "done":
            found.counts["opens"] += outcome.value[0]
            found.bad += outcome.value[1]
        else:
            found.bad.append(f"{outcome.how} {outcome.value}")
    return found


def _open_often(folder: Path) -> tuple[int, list[str]]:
    bad, tried = list[str](), 0
    for _ in range(25):
        tried += 1
        try:
            with Engine.load(folder) as engine:
                if len(engine) < 30:
                    bad.append(f"{len(engine)} documents")
        except TsgenError as error:
            bad.append(str(error))
    return tried, bad


@contextmanager
def _changing(folder: Path, works: tuple[Callable[[Path, int], None], ...]) -> Iterator[None]:
    """Processes that work on an engine, killed at the end."""
    children = []
    for number, work in enumerate(works):
        child = os.fork()
        if child == 0:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 2)
            try:
                work(folder, number)
            finally:
                os._exit(1)
        children.append(child)
    try:
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _keep_adding(folder: Path, number: int) -> None:
    rng = random.Random(number)
    with Engine.load(folder) as engine:
        while True:
            id = f"{number}-{rng.randrange(30)}"
            if id in engine and rng.random() < 0.4:
                engine.remove([id])
            else:
                engine.add([Document(id, " ".join(rng.choices(WORDS, k=6)), "Added")])
            time.sleep(rng.uniform(0, 0.05))


def _keep_compacting(folder: Path, number: int) -> None:
    rng = random.Random(number)
    with Engine.load(folder) as engine:
        while True:
            engine.compact()
            time.sleep(rng.uniform(0, 0.3))


# A disk that is full, or is not to be written.

BEFORE_CHANGE = 3 + 2 * len(QUERIES)  # answers that an engine gives before it is changed

ACTIONS: Mapping[str, Callable[[Path], Any]] = {
    "add": lambda folder: _with(folder, lambda engine: engine.add(documents(700, 60, seed=7))),
    "compact": lambda folder: _with(folder, lambda engine: engine.compact()),
    "erase": lambda folder: _with(folder, lambda engine: engine.erase(["b-2"])),
    "backup": lambda folder: backup(folder, folder.parent / "copy.tar"),
}


def _with(folder: Path, work: Callable[[Engine], Any]) -> None:
    with Engine.load(folder) as engine:
        work(engine)


def full_disk(engine: Path, work: Path, steps: int) -> Together:
    """Let files grow no further than so many bytes: what is done then ends in an error, and the
    engine is what it was, or has all of it."""
    found = Together()
    reference = run(lambda: contents(linked(engine, work / "reference"))).value
    for name, action in ACTIONS.items():
        for step in range(steps):
            limit = 512 * 2**step
            folder = linked(engine, work / "engine")
            outcome = run(partial(_limited, action, folder, limit))
            _note_limited(found, f"{name}, files up to {limit} bytes", outcome, folder, reference)
    return found


def _limited(action: Callable[[Path], Any], folder: Path, limit: int) -> str:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        action(folder)
    except (TsgenError, OSError) as error:  # the command line prints either in one line
        return f"told: {error}"
    return "done"


def _note_limited(
    found: Together, name: str, outcome: Outcome, folder: Path, before: dict[str, str]
) -> None:
    found.counts["full disk"] += 1
    if outcome.how != "done":
        found.bad.append(f"{name}: {outcome.how} {outcome.value}")
        return
    found.counts["told" if outcome.value != "done" else "had room"] += 1
    after = run(lambda: (check(folder).problems, contents(folder)))
    if after.how != "done" or after.value[0]:
        found.bad.append(f"{name}: afterwards {after.how} {str(after.value)[:300]}")
        return
    texts = after.value[1]
    kept = {id: text for id, text in texts.items() if id in before}
    if name.startswith("erase"):
        kept |= {"b-2": before["b-2"]}
    if kept != before:
        found.bad.append(f"{name}: documents were lost")
    elif name.startswith("add") and len(texts) not in (len(before), len(before) + 60):
        found.bad.append(f"{name}: {len(texts) - len(before)} of 60 documents were added")


def small_disk(engine: Path, work: Path) -> Together:
    """The same on a disk of its own that is really full, and then one that cannot be written; needs
    the right to mount one."""
    found, disk = Together(), work / "disk"
    size = sum(path.stat().st_size // 4096 * 4096 + 8192 for path in engine.rglob("*"))
    for spare in (0, 20_000, 100_000, 400_000):
        with mounted(disk, size + spare) as made:
            if not made:
                found.counts["not allowed to mount"] += 1
                return found
            for name, action in ACTIONS.items():
                folder = Path(shutil.copytree(engine, disk / "engine"))
                before = run(partial(contents, folder)).value
                outcome = run(partial(_limited, action, folder, 2**40))
                _note_limited(found, f"{name}, {spare} bytes free", outcome, folder, before)
                for path in disk.iterdir():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with mounted(disk, size + 10_000_000):
        folder = Path(shutil.copytree(engine, disk / "engine"))
        expected = run(lambda: list(answers(linked(engine, work / "reference")))).value[
            :BEFORE_CHANGE
        ]
        os.system(f"mount -o remount,ro {disk}")
        found.counts["read-only disk"] += 1
        given = run(lambda: _until_change(folder))
        if given.how != "done" or given.value != expected:
            found.bad.append(f"read-only: {given.how} {str(given.value)[:300]}")
        os.system(f"mount -o remount,rw {disk}")
    return found


def _until_change(folder: Path) -> list[Any]:
    given, asked = list[Any](), answers(folder)
    try:
        while (one := next(asked, None)) is not None:
            given.append(one)
    except TsgenError as error:
        if "readonly" not in str(error) and "read-only" not in str(error).lower():
            raise
    return given
