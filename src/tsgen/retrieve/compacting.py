"""Compaction: a new base with all changes in it.

The new base is written beside the old one, whole and on disk, while searches and changes go on. One
transaction then names it in the store and forgets the changes that it holds; what changed while it
was written stays. A kill before that transaction leaves the old base, after it the new one.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tsgen.artifact import forget, stage
from tsgen.config import StageConfig
from tsgen.errors import TsgenError
from tsgen.retrieve.base import BASE, TERMS, base_files, base_folder, write_base
from tsgen.retrieve.reader import Snapshot
from tsgen.retrieve.store import Store

KIND = "base"


def compact(folder: Path, now: Snapshot) -> None:
    """Give the engine in `folder` the base that a snapshot of it, just read, is of."""
    store = Store.open(folder)
    if store is None:
        return
    try:
        if now.documents.added or len(now.documents.kept) < len(now.documents.base.documents):
            _compact(folder, now, store)
        else:
            with store.writing():
                store.erase()
    finally:
        store.close()


def _compact(folder: Path, now: Snapshot, store: Store) -> None:
    number = now.state.change  # as no other state of the collection has
    try:
        _write(base_folder(folder, number), now)
    except (TsgenError, OSError):
        if store.state().base == now.state.base:
            raise
        return  # another process was faster, and took away what was read or written here
    with store.writing():
        if store.state().base != now.state.base:
            return
        gone = _gone_since(store, now)
        store.rebase(number, now.last, gone, store.changed())
    _remove_old(folder, number)
    store.shrink()


def _write(new: Path, now: Snapshot) -> None:
    def work(partial: Path) -> None:
        documents = now.documents  # their words as they are known now: no answer changes
        write_base(partial, now.generator.sets, documents, documents.lexicon)

    inputs = {"base": str(now.state.base), "change": str(now.state.change)}
    stage(new, work, kind=KIND, config=StageConfig(), inputs=inputs)
    _sync(new)


def _gone_since(store: Store, now: Snapshot) -> list[int]:
    """Of the snapshot's documents, by number, those that went while the base was written."""
    numbers, ids = store.later(now.state.change, now.last)
    places = np.searchsorted(now.documents.kept, numbers).tolist()
    found = (now.documents.number(document_id) for document_id in ids)
    return sorted({*places, *(number for number in found if number is not None)})


def _remove_old(folder: Path, number: int) -> None:
    """Remove what was written for earlier changes; open readers have their base's files mapped."""
    for path in folder.iterdir():
        written = re.match(rf"\.?{BASE}(\d+)", path.name)
        if written is not None and int(written.group(1)) < number:
            shutil.rmtree(path, ignore_errors=True)
    forget(folder, base_files(folder))
    shutil.rmtree(folder / TERMS, ignore_errors=True)


def _sync(folder: Path) -> None:
    """Make sure that a folder is on disk, and its name."""
    for path in (*_files(folder), folder, folder.parent):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() or path.is_dir())
