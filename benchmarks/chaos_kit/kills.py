"""Kill −9 while a collection changes: is every acknowledged change there, and nothing half there?

Each round starts processes that put, replace and remove documents, and one that compacts, all in
the same engine; kills them at a random moment; opens the engine again and compares it with what was
acknowledged. A change that was begun and not acknowledged must be there as a whole or not at all.
"""

import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from chaos_kit.engines import WORDS
from tsgen.records import Document
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.repair import check

WORKERS = 2  # processes that put and remove, beside one that compacts
KEPT = 25  # documents that a worker has at the most
PATIENCE = 60.0  # seconds for a worker to begin

Texts = dict[str, str]
"""Document id → text."""


@dataclass
class Figures:
    """What a run found."""

    kills: int = 0
    acknowledged: Counter[str] = field(default_factory=Counter)
    interrupted: Counter[str] = field(default_factory=Counter)  # begun and not acknowledged
    finished: int = 0  # of these, those that were there as a whole
    lost: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**self.__dict__, "clean": not (self.lost or self.problems)}


def torment(folder: Path, kills: int, seed: int = 0, pause: float = 1.0) -> Figures:
    """Kill the processes that change an engine so many times, and check what is left."""
    rng, found = random.Random(seed), Figures()
    with Engine.load(folder) as collection:
        there = {document.id: document.text for document in collection.snapshot.documents}
    while found.kills < kills:
        stories = _round(folder, there, rng, pause)
        found.kills += len(stories)
        _check(folder, there, stories, found)
        print(f"\r{found.kills} kills, {len(found.lost)} lost", end="", file=sys.stderr)
    found.problems += check(folder).problems
    return found


def _round(
    folder: Path, there: Texts, rng: random.Random, pause: float
) -> list[list[dict[str, Any]]]:
    """Start the processes, kill them; what each has said."""
    processes = multiprocessing.get_context("fork")
    running: list[tuple[BaseProcess, Connection]] = []
    for number in range(WORKERS + 1):
        own = {id: text for id, text in there.items() if _owner(id) == number}
        ear, mouth = processes.Pipe(duplex=False)
        work = _compact if number == WORKERS else _change
        arguments = (folder, number, own, rng.random(), mouth)
        process = processes.Process(target=work, args=arguments, daemon=True)
        process.start()
        mouth.close()
        running.append((process, ear))
    for _, ear in running:
        ear.poll(PATIENCE)
    time.sleep(rng.uniform(0, pause))
    for process, _ in running:
        os.kill(process.pid or 0, signal.SIGKILL)
    for process, _ in running:
        process.join()
    return [list(_said(ear)) for _, ear in running]


def _owner(document_id: str) -> int:
    """Which worker may change a document, so that what it says about it is in order."""
    return sum(document_id.encode()) % WORKERS


def _said(ear: Connection) -> Iterator[dict[str, Any]]:
    try:
        while ear.poll():
            yield json.loads(ear.recv_bytes())
    except (EOFError, OSError):  # the last word may have been cut off
        return


def _change(folder: Path, number: int, own: Texts, seed: float, mouth: Connection) -> None:
    """Put, replace and remove documents until killed, saying so before and after."""
    rng = random.Random(seed)
    collection = Engine.load(folder)
    while True:
        removing = rng.random() < len(own) / KEPT / 2
        if removing:
            gone = rng.sample(sorted(own), rng.randint(1, min(3, len(own))))
            _say(mouth, "remove", dict.fromkeys(gone, ""))
            collection.remove(gone)
            own = {id: text for id, text in own.items() if id not in gone}
        else:
            new = dict(_document(rng, number) for _ in range(rng.randint(1, 4)))
            _say(mouth, "put", new)
            collection.add([Document(id, text) for id, text in new.items()])
            own |= new
        _say(mouth, "done", {})


def _document(rng: random.Random, number: int) -> tuple[str, str]:
    """Few words, so that many documents want the same set, and few ids, so that some are there."""
    while True:
        document_id = f"{number}-{rng.randrange(2 * KEPT)}"
        if _owner(document_id) == number:
            return document_id, " ".join(rng.choices(WORDS, k=rng.randint(0, 8)))


def _compact(folder: Path, _number: int, _own: Texts, seed: float, mouth: Connection) -> None:
    """Compact again and again until killed."""
    rng = random.Random(seed)
    collection = Engine.load(folder)
    while True:
        _say(mouth, "compact", {})
        collection.compact()
        _say(mouth, "done", {})
        time.sleep(rng.uniform(0, 0.2))


def _say(mouth: Connection, what: str, documents: Mapping[str, str]) -> None:
    mouth.send_bytes(json.dumps({"what": what, "documents": documents}).encode())


def _check(folder: Path, there: Texts, stories: list[list[dict[str, Any]]], found: Figures) -> None:
    """Compare the engine with what was acknowledged; `there` becomes what is there now."""
    with Engine.load(folder) as collection:
        now = {document.id: document.text for document in collection.snapshot.documents}
        found.problems += [] if len(now) == len(collection) else ["an id is there twice"]
    for story in stories:
        for said, after in zip(story, [*story[1:], None], strict=True):
            if said["what"] == "done":
                continue
            applied = _applied(there, said)
            if after is not None:
                found.acknowledged[said["what"]] += 1
                there.clear()
                there.update(applied)
                continue
            found.interrupted[said["what"]] += 1
            touched = said["documents"].keys()
            if touched and all(now.get(id) == applied.get(id) for id in touched):
                found.finished += 1
                there.clear()
                there.update(applied)
    wrong = [id for id in {*now, *there} if now.get(id) != there.get(id)]
    found.lost += [f"{id}: {now.get(id)!r}, expected {there.get(id)!r}" for id in wrong]
    there.clear()
    there.update(now)


def _applied(there: Texts, said: Mapping[str, Any]) -> Texts:
    if said["what"] == "remove":
        return {id: text for id, text in there.items() if id not in said["documents"]}
    return there | said["documents"]
