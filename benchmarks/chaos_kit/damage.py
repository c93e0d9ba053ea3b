"""Damaged bytes in every file of engines: is each told, or without effect on every answer?"""

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos_kit.engines import answers, contents, linked
from chaos_kit.forked import Outcome, run
from tsgen.retrieve.repair import check, repair

HOWS = ("a bit", "another bit", "a zeroed stretch", "shorter", "longer", "empty", "missing")


@dataclass
class Damages:
    """What became of damaged files."""

    files: int = 0
    found: dict[str, Counter[str]] = field(default_factory=dict)  # state → outcome → number
    bad: list[str] = field(default_factory=list)  # crashes, tracebacks, wrong answers
    repaired: int = 0
    kept: int = 0  # documents in repaired engines
    expected: int = 0
    unrepaired: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        found = {state: dict(counts) for state, counts in self.found.items()}
        clean = not self.bad and not self.unrepaired
        return {**self.__dict__, "found": found, "clean": clean}


def torment(
    engines: Mapping[str, Path], work: Path, seed: int = 0, hows: tuple[str, ...] = HOWS
) -> Damages:
    """Damage every file of every engine in every way, one at a time, and ask everything of it."""
    rng, found = random.Random(seed), Damages()
    for state, engine in engines.items():
        counts = found.found[state] = Counter()
        reference = _asked(linked(engine, work / "reference"))
        there = len(_contents(linked(engine, work / "reference")))
        for name in files_of(engine):
            for how in hows:
                copy = linked(engine, work / "damaged")
                if not damage(copy / name, how, rng):
                    continue
                found.files += 1
                whole = _judge(copy, reference, f"{state}: {name}: {how}", counts, found)
                if not whole and how in ("a bit", "missing"):
                    copy = linked(engine, work / "damaged")
                    damage(copy / name, how, rng)
                    _mend(copy, f"{state}: {name}: {how}", there, found)
    return found


def files_of(engine: Path) -> list[str]:
    """The names of all files in an engine's folder."""
    paths = sorted(path for path in engine.rglob("*") if path.is_file())
    return [path.relative_to(engine).as_posix() for path in paths]


def damage(path: Path, how: str, rng: random.Random) -> bool:
    """Damage a file; False if it cannot be damaged so."""
    data = bytearray(path.read_bytes())
    if not data and how != "longer":
        return False
    match how:
        case "a bit" | "another bit":
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case "a zeroed stretch":
            start = rng.randrange(len(data))
            before = bytes(data)
            data[start : start + 64] = bytes(len(data[start : start + 64]))
            if bytes(data) == before:
                data[start] = 1
        case "shorter":
            del data[rng.randrange(len(data)) :]
        case "longer":
            data += rng.randbytes(16)
        case "empty":
            data.clear()
    path.unlink()  # its content may be shared with other copies
    if how != "missing":
        path.write_bytes(data)
    return True


def _judge(
    copy: Path, reference: list[Any], name: str, counts: Counter[str], found: Damages
) -> bool:
    """Compare what a damaged engine answers with what the whole one does; whether all is equal."""
    outcome = run(lambda: _until_told(copy))
    if outcome.how != "done":
        counts[outcome.how] += 1
        found.bad.append(f"{name}: {outcome.how}: {outcome.value}")
        return False
    given, told = outcome.value
    wrong = [(got, right) for got, right in zip(given, reference, strict=False) if got != right]
    if wrong:
        counts["silent"] += 1
        found.bad.append(f"{name}: answered {wrong[0][0]!r}, expected {wrong[0][1]!r}")
        return False
    counts["told" if told else "without effect"] += 1
    return not told


def _until_told(folder: Path) -> tuple[list[Any], str | None]:
    """The answers up to the error, and the error."""
    from tsgen.errors import TsgenError

    given = list[Any]()
    asked: Iterator[Any] = answers(folder)
    try:
        given.extend(_each(asked, given.append))
    except TsgenError as error:
        return given, str(error)
    return given, None


def _each(asked: Iterator[Any], note: Callable[[Any], None]) -> list[Any]:
    for one in asked:
        note(one)
    return []


def _mend(copy: Path, name: str, there: int, found: Damages) -> None:
    """Repair a damaged engine: it must be whole then, and have what was not damaged."""
    outcome = run(lambda: _repaired(copy))
    for left in copy.parent.glob(f"{copy.name}.damaged-*"):
        shutil.rmtree(left)
    if outcome.how != "done":
        found.unrepaired.append(f"{name}: {outcome.how}: {outcome.value}")
        return
    kept, told, problems = outcome.value
    found.repaired += 1
    found.kept += kept
    found.expected += there
    if problems:
        found.unrepaired.append(f"{name}: still {problems[0]}")
    if kept < there and not told:
        found.unrepaired.append(f"{name}: {there - kept} documents fewer, nothing said")


def _repaired(copy: Path) -> tuple[int, list[str], list[str]]:
    found = repair(copy)
    return found.documents, found.lost, check(copy).problems


def _asked(folder: Path) -> list[Any]:
    """All answers of a whole engine, from a process of their own."""
    return list(_value(run(lambda: list(answers(folder)))))


def _contents(folder: Path) -> dict[str, str]:
    return dict(_value(run(lambda: contents(folder))))


def _value(outcome: Outcome) -> Any:
    if outcome.how != "done":
        raise RuntimeError(f"an engine that is whole: {outcome.how} {outcome.value}")
    return outcome.value


os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
