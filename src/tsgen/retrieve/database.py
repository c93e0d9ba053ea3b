"""A connection to an SQLite file: durable transactions, and errors that say what to do."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from tsgen.errors import ArtifactError

PATIENCE = 30.0  # seconds that a writer waits for another one


class Database:
    """One connection; may be used by several threads, which take turns."""

    def __init__(self, path: Path) -> None:
        self.path, self._turn = path, RLock()
        with self._explained():
            self._connection = sqlite3.connect(
                path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            if self._connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        """Give the file back."""
        self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """All that is read inside is of one moment."""
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All that is written inside is one change, or none if it fails."""
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    def shrink(self) -> None:
        """Give the space of deleted rows back to the disk, unless others are in the way."""
        with suppress(sqlite3.OperationalError):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

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
                self.run("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise ArtifactError(
                f"{self.path}: {error}. If it is locked, another process has been writing for "
                f"over {PATIENCE:.0f} s; else check the disk's space and permissions. Try again."
            ) from None
        except sqlite3.DatabaseError as error:
            raise ArtifactError(
                f"{self.path}: {error}; expected a store that tsgen wrote. Restore the engine's "
                "folder from a copy, or make the engine again."
            ) from None
