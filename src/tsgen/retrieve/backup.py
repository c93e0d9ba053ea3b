"""Copies of an engine in one file: taken while it is searched and changed, and brought back.

A copy is a tar archive with the engine's files. They never change, so they are opened first, all of
one base; then SQLite copies the store at one moment. If a compaction switched to another base in
between, the copy is begun again. Every file is compared with its checksum on the way in and on the
way out, so that a copy is whole or there is none.
"""

import io
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import BinaryIO

from tsgen.artifact import (
    CALIBRATION,
    MANIFEST,
    MARK,
    STORE,
    Manifest,
    read_manifest,
    sync,
    write_beside,
)
from tsgen.errors import ArtifactError, DamagedError
from tsgen.integrity import FileFacts, checksums_of
from tsgen.owner import OpenFolder
from tsgen.progress import show
from tsgen.retrieve.repair import check
from tsgen.retrieve.storage import base_folder
from tsgen.retrieve.store import Store, write_mark

ATTEMPTS = 20  # at a copy of one base, while compactions write others


@dataclass(frozen=True, slots=True)
class Copied:
    """What a backup or a restored engine holds."""

    files: int
    size: int  # bytes
    changes: int


def backup(folder: Path, file: Path) -> Copied:
    """Write all of an engine, as it is at one moment, to a file. Others may search and change the
    engine meanwhile."""
    opened = OpenFolder(folder)
    try:
        for _ in range(ATTEMPTS):
            with ExitStack() as stack, TemporaryDirectory() as work:
                found = _moment(folder, stack, Path(work))
                if found is not None:
                    opened.require()
                    return _write(file, *found)
    finally:
        opened.close()
    raise ArtifactError(f"{folder}: compacted again and again while it is copied. Try again.")


Opened = dict[str, tuple[BinaryIO, FileFacts | None]]
"""Files that are open, by their names in the engine, and what their content must be."""


def _moment(folder: Path, stack: ExitStack, work: Path) -> tuple[Opened, int] | None:
    """The files of an engine and the number of its changes; None if its base is no more the one
    that the files are of."""
    base = _base(folder)
    folders = {"": folder} | ({f"{base_folder(folder, base).name}/": base_folder(folder, base)})
    manifests: dict[str, Manifest] = {}
    files: Opened = {}
    try:
        for prefix, part in ({"": folder} if not base else folders).items():
            manifests[prefix] = read_manifest(part)
            for name, facts in (*manifests[prefix].files.items(), (MANIFEST, None)):
                files[prefix + name] = stack.enter_context((part / name).open("rb")), facts
        if (folder / CALIBRATION).is_file():
            found = stack.enter_context((folder / CALIBRATION).open("rb"))
            files[CALIBRATION] = found, None
        if any(read_manifest(folders[prefix]) != one for prefix, one in manifests.items()):
            return None
    except (OSError, ArtifactError) as error:
        if _base(folder) != base:
            return None
        if isinstance(error, ArtifactError):
            raise
        raise DamagedError(
            f"{error.filename}: {error.strerror}; the engine was not copied. `tsgen check "
            f"{folder}` lists what is damaged."
        ) from None
    changes = _copy_store(folder, base, work)
    if changes is None:
        return None
    for name in (STORE, MARK):
        if (work / name).is_file():
            files[name] = stack.enter_context((work / name).open("rb")), None
    return files, changes


def _base(folder: Path) -> int:
    store = Store.open(folder)
    if store is None:
        return 0
    try:
        return store.state().base
    finally:
        store.close()


def _copy_store(folder: Path, base: int, work: Path) -> int | None:
    """Copy the store; the number of its changes, or None if they are to another base."""
    store, changes = Store.open(folder), 0
    if store is not None:
        try:
            store.copy(work / STORE)
        finally:
            store.close()
        write_mark(work, 0)
        copied = Store.open(work)
        if copied is None:
            return None
        try:
            state = copied.state()
        finally:
            copied.close()
        if state.base != base:
            return None
        changes = state.change
    write_mark(work, changes)
    return changes


def _write(file: Path, files: Opened, changes: int) -> Copied:
    size = 0
    with write_beside(file) as beside:
        with tarfile.open(beside, "w") as archive:
            for number, (name, (content, facts)) in enumerate(sorted(files.items())):
                show("copying files", number, len(files))
                size += _add(archive, name, content, facts)
        handle = os.open(beside, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
    return Copied(len(files), size, changes)


def _add(archive: tarfile.TarFile, name: str, content: BinaryIO, facts: FileFacts | None) -> int:
    """Put a file into the archive; `DamagedError` if its content is not what it must be."""
    content.seek(0, io.SEEK_END)
    size = content.tell()
    content.seek(0)
    if facts is not None and (size != facts.size or checksums_of(content) != facts.blocks):
        raise DamagedError(
            f"{name}: is damaged, so the engine was not copied. `tsgen check ENGINE` lists all "
            "damage, `tsgen repair ENGINE` keeps what can be kept."
        )
    content.seek(0)
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = size, 0o644, int(os.fstat(content.fileno()).st_mtime)
    archive.addfile(entry, content)
    return size


def restore(file: Path, folder: Path) -> Copied:
    """Make an engine's folder of a file that `backup` wrote. A folder that is there stays as it is
    and is an error, be it damaged or not."""
    folder = folder.resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArtifactError(
            f"{folder}: is there already, and may hold the only copy of something; expected a new "
            f"name. Restore to another, or move it away first: mv {folder} {folder}.before"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f".{folder.name}.{token_hex(8)}.partial")
    partial.mkdir()
    try:
        files = sum(1 for _ in _extracted(file, partial))
        found = check(partial)
        if found.problems:
            raise DamagedError(f"{file}: not a whole copy of an engine: {found.problems[0]}")
        sync(partial)
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return Copied(files, found.size, found.changes)


def _extracted(file: Path, folder: Path) -> Iterator[str]:
    """Write the files of an archive into a folder, nowhere else; their names."""
    try:
        with tarfile.open(file, "r:") as archive:
            for entry in archive:
                if not entry.isreg():
                    raise DamagedError(
                        f"{file}: has {entry.name!r}, which is no file; expected a copy that "
                        "`tsgen backup` wrote."
                    )
                archive.extract(entry, folder, filter="data")
                yield entry.name
    except FileNotFoundError:
        raise ArtifactError(f"{file}: not there; expected what `tsgen backup` wrote.") from None
    except (tarfile.TarError, EOFError, UnicodeError, ValueError) as error:
        raise DamagedError(
            f"{file}: {error}; expected a copy that `tsgen backup` wrote, and is cut off or "
            "another kind of file. Nothing was restored."
        ) from None
