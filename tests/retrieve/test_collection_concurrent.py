"""Readers and writers at once: threads, processes, and processes that are killed."""

import multiprocessing
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from living import DOCUMENTS, rebuilt, rounded
from tsgen.errors import ArtifactError
from tsgen.records import Document
from tsgen.retrieve import storage as database
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.storage import Store

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


def crash_benchmark() -> Any:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "crash.py"
    spec = spec_from_file_location("crash", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["crash"] = module
    spec.loader.exec_module(module)
    return module


def test_killed_while_changing(folder: Path) -> None:
    found = crash_benchmark().torment(folder, kills=9, pause=0.1).as_json()
    assert found["clean"], found
    assert found["acknowledged"]["put"] + found["interrupted"]["put"] > 0
