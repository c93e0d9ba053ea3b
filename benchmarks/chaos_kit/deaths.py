"""Death at scripted points: an operation ends, as by SIGKILL, before its n-th touch of a file.

What must be there afterwards is the old or the new, whole; and the same operation must then run to
its end.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tsgen
from chaos_kit.engines import contents, documents, linked, options
from chaos_kit.forked import Outcome, run
from tsgen.records import Document
from tsgen.retrieve.backup import backup, restore
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.repair import check, repair

MOST = 400  # points of one operation that are looked for
Texts = dict[str, str]


@dataclass
class Deaths:
    """What was there after each death."""

    deaths: Counter[str] = field(default_factory=Counter)  # by operation
    found: Counter[str] = field(default_factory=Counter)  # old or new
    lost: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**self.__dict__, "total": self.deaths.total(), "clean": not self.lost}


@dataclass(frozen=True)
class Operation:
    """Something that is done to an engine in `work`/engine, and what may be there afterwards."""

    name: str
    state: str
    do: Callable[[Path], Any]
    new: Callable[[Texts], Texts]
    damaged: str | None = None  # a file that is damaged before, for a repair


def _change(work: Callable[[Engine], Any]) -> Callable[[Path], Any]:
    def do(folder: Path) -> None:
        with Engine.load(folder) as engine:
            work(engine)

    return do


def _same(texts: Texts) -> Texts:
    return texts


def operations(work: Path) -> list[Operation]:
    """All that changes an engine, makes one, or copies one."""
    added = Document("new", "amber moss", "New")
    other = documents(500, 12, seed=5)
    again = options(work, small=True)

    def without(texts: Texts, *ids: str) -> Texts:
        return {id: text for id, text in texts.items() if id not in ids}

    return [
        Operation(
            "index over",
            "changed",
            lambda folder: tsgen.index(other, out=folder, **again).close(),
            lambda _: {one.id: one.text for one in other},
        ),
        Operation(
            "first add",
            "fresh",
            _change(lambda engine: engine.add([added])),
            lambda texts: texts | {"new": added.text},
        ),
        Operation(
            "add",
            "compacted",
            _change(lambda engine: engine.add([added])),
            lambda texts: texts | {"new": added.text},
        ),
        Operation(
            "remove",
            "changed",
            _change(lambda engine: engine.remove(["b-1", "b-100"])),
            lambda texts: without(texts, "b-1", "b-100"),
        ),
        Operation("compact", "changed", _change(lambda engine: engine.compact()), _same),
        Operation("compact again", "compacted", _change(lambda engine: engine.compact()), _same),
        Operation(
            "erase",
            "changed",
            _change(lambda engine: engine.erase(["b-2"])),
            lambda texts: without(texts, "b-2"),
        ),
        Operation(
            "repair",
            "changed",
            repair,
            _same,
            damaged="lexicon.json",
        ),
    ]


def torment(
    engines: Mapping[str, Path], work: Path, points: int, only: str | None = None
) -> Deaths:
    """Let every operation die at so many points, evenly spread over its touches of files."""
    found = Deaths()
    for each in operations(engines["fresh"].parent):
        if only is None or each.name == only:
            _dying(each, engines[each.state], work, points, found)
    if only is None:
        _copying(engines["compacted"], work, points, found)
    return found


def _points(do: Callable[[int], Outcome], points: int) -> range:
    """The numbers of the events to die at: the last one is found by halving."""
    low, high = 1, 2
    while high < MOST * 64 and do(high).how == "died":
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if do(middle).how == "died" else (low, middle)
    return range(1, low + 1, max(1, low // points))


def _dying(each: Operation, engine: Path, work: Path, points: int, found: Deaths) -> None:
    folder = work / "engine"
    before = _value(run(lambda: contents(linked(engine, folder))))
    after = each.new(before)

    def die(number: int) -> Outcome:
        _clear(work)
        linked(engine, folder)
        if each.damaged is not None:
            _damage(folder / each.damaged)
        return run(lambda: each.do(folder), dies_at=number)

    for number in _points(die, points):
        name = f"{each.name}, point {number}"
        if die(number).how != "died":
            found.lost.append(f"{name}: did not die")
            continue
        found.deaths[each.name] += 1
        there = run(lambda: contents(folder))
        if each.damaged is not None and there.how == "told":
            found.found["old"] += 1
        elif there.how == "done" and there.value in (before, after):
            found.found["old" if there.value == before else "new"] += 1
        else:
            found.lost.append(f"{name}: {there.how} {str(there.value)[:300]}")
            continue
        ended = run(lambda: _again(each, folder))
        if ended.how != "done" or ended.value != (after, []):
            found.lost.append(f"{name}: the next run: {ended.how} {str(ended.value)[:300]}")


def _again(each: Operation, folder: Path) -> tuple[Texts, list[str]]:
    """Do it again, to the end; a removal that was done already is not repeated."""
    there = {} if each.damaged else contents(folder)
    if each.damaged or each.name not in ("remove", "erase") or each.new(there) != there:
        each.do(folder)
    return contents(folder), check(folder).problems


def _copying(engine: Path, work: Path, points: int, found: Deaths) -> None:
    """A backup or a restored engine is there as a whole or not at all."""
    folder, file, back = work / "engine", work / "copy.tar", work / "back"
    expected = _value(run(lambda: contents(linked(engine, folder))))
    whole = work.parent / "whole.tar"
    _value(run(lambda: backup(engine, whole).files))

    def backing(number: int) -> Outcome:
        _clear(work)
        linked(engine, folder)
        return run(lambda: backup(folder, file), dies_at=number)

    def restoring(number: int) -> Outcome:
        _clear(work)
        return run(lambda: restore(whole, back), dies_at=number)

    def restored() -> Texts:
        restore(file, back)
        return contents(back)

    for number in _points(backing, points):
        if backing(number).how == "died":
            found.deaths["backup"] += 1
            there = run(restored) if file.exists() else Outcome("done", expected)
            _note(found, f"backup, point {number}", file.exists(), there, expected)
    for number in _points(restoring, points):
        if restoring(number).how == "died":
            found.deaths["restore"] += 1
            exists = back.exists()
            there = run(lambda: contents(back)) if exists else Outcome("done", expected)
            _note(found, f"restore, point {number}", exists, there, expected)


def _note(found: Deaths, name: str, exists: bool, there: Outcome, expected: Texts) -> None:
    if there.how == "done" and there.value == expected:
        found.found["new" if exists else "nothing"] += 1
    else:
        found.lost.append(f"{name}: {there.how} {str(there.value)[:300]}")


def _damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()
    path.write_bytes(data)


def _clear(work: Path) -> None:
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()


def _value(outcome: Outcome) -> Any:
    if outcome.how != "done":
        raise RuntimeError(f"an engine that is whole: {outcome.how} {outcome.value}")
    return outcome.value
