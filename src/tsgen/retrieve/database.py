"""A connection to an SQLite file: durable transactions, and errors that say what to do."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any
from urllib.parse import quote

from tsgen.errors import ArtifactError, DamagedError, LockedError
from tsgen.integrity import CHECK

PATIENCE = 30.0  # seconds that a writer waits for another one


class Database:
    """A connection to an SQLite file; several threads may use it, and take turns."""

    def __init__(self, path: Path) -> None:
        self.path, self._turn = path, RLock()
        self._log = path.with_name(f"{path.name}-wal")
        self.read_only = not os.access(path.parent, os.W_OK)
        with self._explained():
            self._connection = self._connected()
        self.seen, self._read = file_identity(path), self._times()

    def _connected(self) -> sqlite3.Connection:
        """Connect; on a disk that cannot be written, read the file as one that nobody writes."""
        if self.read_only:
            # With a log beside it, somebody else may be writing it now.
            hows = ("mode=ro", "immutable=1") if _size(self._log) else ("immutable=1",)
            for how in hows:
                connection = sqlite3.connect(
                    f"file:{quote(str(self.path.resolve()))}?{how}",
                    uri=True,
                    isolation_level=None,
                    check_same_thread=False,
                )
                try:
                    connection.execute("SELECT count(*) FROM sqlite_master")
                    return connection
                except sqlite3.OperationalError:
                    connection.close()
                    if how == "immutable=1":
                        raise
        connection = sqlite3.connect(
            self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            connection.execute("PRAGMA journal_mode = WAL")
        for setting in ("synchronous = FULL", "secure_delete = ON", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    def is_stale(self) -> bool:
        """Whether somebody has written to a file that was opened as one that nobody writes."""
        return self.read_only and self._times() != self._read

    def _times(self) -> tuple[int, int]:
        with suppress(OSError):
            return self.path.stat().st_mtime_ns, _size(self._log)
        return 0, 0

    def close(self) -> None:
        """Close the connection to the file."""
        self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A transaction in which everything that is read is of one moment."""
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction in which everything that is written is one change, or none if it fails."""
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    def shrink(self) -> bool:
        """Give the space of deleted rows back to the disk, and empty the log; returns whether
        nobody was in the way."""
        try:
            self._connection.execute("VACUUM")
            busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy
        except sqlite3.OperationalError:
            return False

    def copy(self, path: Path) -> None:
        """Write all of one moment to another file, which has no log beside it."""
        with self._turn, self._explained():
            target = sqlite3.connect(path)
            try:
                self._connection.backup(target)
                target.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                target.close()

    def row(self, query: str, *values: Any) -> Any:
        """The first row that a query finds, or None."""
        return next(iter(self.run(query, *values)), None)

    def run(self, query: str, *values: Any) -> list[Any]:
        """All rows that a query finds."""
        with self._turn, self._explained():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._turn:
            self.run(begin)
            try:
                yield
                self._before_commit()
                self.run("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _before_commit(self) -> None:
        """The last thing that is written in a transaction."""

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise _explained(self.path, error) from None


_BUSY, _LOCKED = sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED
_OUTSIDE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL}
_OUTSIDE |= {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM}


def _explained(path: Path, error: sqlite3.DatabaseError) -> ArtifactError:
    """The error for a user: another process is in the way, the disk is, or the file is damaged."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (_BUSY, _LOCKED):
        return LockedError(
            f"{path}: {error}: another process has been writing for over {PATIENCE:.0f} s. "
            "Nothing was changed. Try again."
        )
    if code in _OUTSIDE:
        return ArtifactError(
            f"{path}: {error}. Check the disk's space and permissions, then try again."
        )
    return DamagedError(f"{path}: {error}; expected a store that tsgen wrote. {CHECK}")


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def file_identity(path: Path) -> tuple[int, int] | None:
    """Which file a path names."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None
