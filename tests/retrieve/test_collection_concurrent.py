"""Readers and writers at once: threads, processes, and processes that are killed."""

import multiprocessing
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from living import DOCUMENTS, rebuilt, rounded
from tsgen.errors import ArtifactError, DataError
from tsgen.records import Document
from tsgen.retrieve import database
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.snapshot import Snapshot
from tsgen.retrieve.store import State, Store, Unfinished

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from chaos_kit import kills

ALWAYS = {document.id for document in DOCUMENTS}
BATCH = 3


def batch(number: int) -> list[Document]:
    return [Document(f"n{number}-{i}", f"moss number{number} part{i}") for i in range(BATCH)]


def test_readers_see_whole_changes_only(folder: Path) -> None:
    done, seen = Event(), [0]

    def read(collection: Engine) -> int:
        searches = 0
        while not (done.is_set() and searches):
            engine = collection.snapshot
            (hits,) = engine.search(["moss"], k=100)
            there = set(engine.generator.sets.documents)
            assert hits
            assert there >= ALWAYS | {hit.document_id for hit in hits}
            new = there - ALWAYS
            assert len(new) % BATCH == 0
            assert {id.split("-")[0] for id in new} == {f"n{n}" for n in range(len(new) // BATCH)}
            seen.append(len(new))
            searches += 1
        return searches

    with Engine.load(folder) as collection, ThreadPoolExecutor(3) as threads:
        readers = [threads.submit(read, collection) for _ in range(3)]
        try:
            for number in range(8):
                collection.add(batch(number))
                if number % 3 == 1:
                    collection.compact()
                while max(seen) < BATCH * number and not any(one.done() for one in readers):
                    time.sleep(0.001)
        finally:
            done.set()
        assert all(reader.result() for reader in readers)
        found = collection.search(["moss", "fern"])
        assert rounded(found) == rounded(rebuilt(collection).search(["moss", "fern"]))


class Held:
    """A preparation that begins and then waits until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began, self.may_go_on = Event(), Event()
        prepare = Snapshot.prepare

        def held(snapshot: Snapshot) -> None:
            prepare(snapshot)
            self.began.set()
            assert self.may_go_on.wait(20)

        monkeypatch.setattr(Snapshot, "prepare", held)


def test_no_search_waits_for_a_change_that_is_prepared(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    with Engine.load(folder) as collection, ThreadPoolExecutor(1) as threads:
        before = collection.search("moss")
        adding = threads.submit(collection.add, batch(0), prepare=True)
        assert held.began.wait(20)
        assert collection.search("moss") == before
        assert len(collection) == len(ALWAYS)
        assert not adding.done()
        held.may_go_on.set()
        assert adding.result().added == BATCH
        assert len(collection) == len(ALWAYS) + BATCH
        assert collection.remove(["n0-0", "n0-1"], prepare=True) == 2
        assert len(collection) == len(ALWAYS) + BATCH - 2


def test_what_another_process_finished_is_seen_while_a_change_is_prepared(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    with (
        Engine.load(folder) as collection,
        Engine.load(folder) as other,
        ThreadPoolExecutor(2) as threads,
    ):
        adding = threads.submit(collection.add, batch(0), prepare=True)
        assert held.began.wait(20)
        other.add(batch(1))
        size = threads.submit(collection.__len__)
        held.may_go_on.set()
        assert size.result() == len(ALWAYS) + 2 * BATCH
        assert adding.result().added == BATCH


def test_a_change_that_fails_is_not_waited_for(folder: Path) -> None:
    with Engine.load(folder) as collection, Engine.load(folder) as other:
        with pytest.raises(DataError):
            collection.remove(["d0", "unknown"], prepare=True)
        other.add(batch(0))  # takes the number of the change that failed
        assert len(collection) == len(ALWAYS) + BATCH


def test_an_earlier_state_is_as_good_if_only_unfinished_changes_are_missing() -> None:
    unfinished = Unfinished()
    for number in (5, 6, 8):
        unfinished.add(number)
    assert unfinished.cover(State(0, 4), State(0, 4))
    assert unfinished.cover(State(0, 4), State(0, 6))
    assert not unfinished.cover(State(0, 3), State(0, 6))
    assert not unfinished.cover(State(0, 4), State(0, 8))
    assert not unfinished.cover(State(0, 4), State(4, 5))  # compacted
    unfinished.remove([5])
    assert not unfinished.cover(State(0, 4), State(0, 6))
    assert unfinished.cover(State(0, 5), State(0, 6))


def test_writers_in_threads_wait_for_one_another(folder: Path) -> None:
    with Engine.load(folder) as collection, ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: collection.add(batch(number)), range(6)))
        assert len(collection) == len(ALWAYS) + 6 * BATCH


def put_some(folder: Path, number: int) -> None:
    with Engine.load(folder) as collection:
        for i in range(3):
            collection.add(batch(10 * number + i))
        if number == 1:
            collection.compact()


def test_writers_in_processes(folder: Path) -> None:
    processes = multiprocessing.get_context("fork")
    running = [processes.Process(target=put_some, args=(folder, number)) for number in range(3)]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0, 0, 0]
    with Engine.load(folder) as collection:
        assert len(collection) == len(ALWAYS) + 9 * BATCH


def test_a_writer_that_waited_too_long(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    with Engine.load(folder) as collection:
        collection.add(batch(0))
        other = Store.create(folder)
        with other.writing(), pytest.raises(ArtifactError, match=r"locked.*another process"):
            collection.add(batch(1))
        other.close()
        collection.add(batch(2))
        assert len(collection) == len(ALWAYS) + 2 * BATCH


def test_killed_while_changing(folder: Path) -> None:
    found = kills.torment(folder, kills=9, pause=0.1).as_json()
    assert found["clean"], found
    assert found["acknowledged"]["put"] + found["interrupted"]["put"] > 0
