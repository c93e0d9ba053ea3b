"""What changed in a collection since its base was written: an SQLite file in the engine's folder.

A change is one transaction in WAL mode with synchronous=FULL: when it returns it is on disk, and
a kill at any moment leaves all of it or nothing. Readers never wait, a writer waits for another.

A document that goes keeps its rows, marked with the change that took it, until the collection is
compacted: readers that still know it can go on reading it. So do the rows of documents that a
compaction wrote into the base, until the next one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from tsgen.errors import ArtifactError
from tsgen.records import Document
from tsgen.retrieve.database import Database
from tsgen.retrieve.documents import as_json

FILE = "collection.sqlite"
FORMAT = 1

_SCHEMA = """
CREATE TABLE state (base INTEGER NOT NULL, change INTEGER NOT NULL);
INSERT INTO state VALUES (0, 0);
CREATE TABLE documents (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    terms TEXT NOT NULL,         -- T(D) as JSON, heaviest first
    weights BLOB NOT NULL,       -- of the terms, float32
    set_hash INTEGER NOT NULL,   -- of T(D)
    words_hash INTEGER NOT NULL, -- of all words
    metadata TEXT,               -- JSON, or NULL for none
    gone INTEGER                 -- the change that took it away, or NULL
);
CREATE UNIQUE INDEX there ON documents (id) WHERE gone IS NULL;
CREATE INDEX sets ON documents (set_hash) WHERE gone IS NULL;
CREATE TABLE texts (sequence INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE removed (  -- of the base's documents
    number INTEGER PRIMARY KEY,
    change INTEGER NOT NULL
);
CREATE TABLE spellings (key TEXT PRIMARY KEY, term TEXT NOT NULL) WITHOUT ROWID;
"""


class State(NamedTuple):
    """Which base the changes are to, and the number of the last change."""

    base: int
    change: int


@dataclass(frozen=True, slots=True)
class Added:
    """A document that is not in the base, without its text."""

    sequence: int
    id: str
    terms: tuple[str, ...]
    weights: NDArray[np.float32]
    metadata: str | None  # JSON


class Store(Database):
    """The changes of one engine."""

    @classmethod
    def create(cls, folder: Path) -> Self:
        """Open the store of an engine's folder, making it if it is not there."""
        store = cls(folder / FILE)
        if not store._version():
            with store.writing():
                if not store._version():  # or another process has just made it
                    for statement in _SCHEMA.split(";\n")[:-1]:
                        store.run(statement)
                    store.run(f"PRAGMA user_version = {FORMAT}")
        return store

    @classmethod
    def open(cls, folder: Path) -> Self | None:
        """Open the store of an engine's folder; None if nothing was ever changed."""
        if not (folder / FILE).is_file():
            return None
        store = cls(folder / FILE)
        if store._version():
            return store
        store.close()
        return None

    def state(self) -> State:
        """Of the last change, whoever made it."""
        return State(*self.row("SELECT base, change FROM state"))

    def changed(self) -> int:
        """Count one more change; its number."""
        self.run("UPDATE state SET change = change + 1")
        return self.state().change

    def sequences(self) -> NDArray[np.int64]:
        """Of the documents that are there, ascending: the order in which they were put."""
        rows = self.run("SELECT sequence FROM documents INDEXED BY there WHERE gone IS NULL")
        return np.sort(np.array([row[0] for row in rows], np.int64))

    def last(self) -> int:
        """The last sequence number, of a document that is there or gone."""
        return int(self.row("SELECT coalesce(max(sequence), 0) FROM documents")[0])

    def added(self, after: int) -> list[Added]:
        """The documents that are there and were put after a sequence number, in order."""
        rows = self.run(
            "SELECT sequence, id, terms, weights, metadata FROM documents "
            "WHERE sequence > ? AND gone IS NULL ORDER BY sequence",
            after,
        )
        return [
            Added(sequence, id, tuple(orjson.loads(terms)), np.frombuffer(weights, "<f4"), metadata)
            for sequence, id, terms, weights, metadata in rows
        ]

    def removed(self) -> NDArray[np.int64]:
        """The numbers of the base's documents that are gone or replaced, ascending."""
        rows = self.run("SELECT number FROM removed ORDER BY number")
        return np.array([row[0] for row in rows], np.int64)

    def document(self, sequence: int) -> Document | None:
        """A document by its sequence number, gone or not; None once it was compacted away."""
        row = self.row(
            "SELECT id, text, title, metadata FROM documents JOIN texts USING (sequence) "
            "WHERE sequence = ?",
            sequence,
        )
        return None if row is None else Document(*row[:3], *_parsed(row[3]))

    def sequence(self, document_id: str) -> int | None:
        """The sequence number of a document that is there."""
        row = self.row("SELECT sequence FROM documents WHERE id = ? AND gone IS NULL", document_id)
        return None if row is None else int(row[0])

    def holders(self, set_hash: int) -> list[tuple[int, int]]:
        """Sequence and hash of all words of the documents with a set."""
        return self.run(
            "SELECT sequence, words_hash FROM documents WHERE set_hash = ? AND gone IS NULL",
            set_hash,
        )

    def spelling(self, key: str) -> str | None:
        """How the terms with a key are spelled, if the base does not say."""
        row = self.row("SELECT term FROM spellings WHERE key = ?", key)
        return None if row is None else str(row[0])

    def spell(self, key: str, term: str) -> None:
        """Remember how terms with a key are spelled."""
        self.run("INSERT OR IGNORE INTO spellings VALUES (?, ?)", key, term)

    def insert(
        self,
        document: Document,
        terms: Sequence[str],
        weights: Sequence[float],
        set_hash: int,
        words_hash: int,
    ) -> int:
        """Add a document; its sequence number."""
        metadata = as_json(document.metadata, document.id).decode() if document.metadata else None
        row = (document.id, orjson.dumps(terms).decode(), np.array(weights, "<f4").tobytes())
        self.run(
            "INSERT INTO documents (id, terms, weights, set_hash, words_hash, metadata) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            *(*row, set_hash, words_hash, metadata),
        )
        ((sequence,),) = self.run("SELECT last_insert_rowid()")
        self.run("INSERT INTO texts VALUES (?, ?, ?)", sequence, document.title, document.text)
        return int(sequence)

    def take_away(self, sequence: int, change: int) -> None:
        """A document that is not in the base goes."""
        self.run("UPDATE documents SET gone = ? WHERE sequence = ?", change, sequence)

    def remove(self, number: int, change: int) -> bool:
        """A document of the base goes; whether it was there."""
        if self.is_removed(number):
            return False
        self.run("INSERT INTO removed VALUES (?, ?)", number, change)
        return True

    def is_removed(self, number: int) -> bool:
        """Whether a document of the base is gone."""
        return self.row("SELECT 1 FROM removed WHERE number = ?", number) is not None

    def later(self, change: int, sequence: int) -> tuple[list[int], list[str]]:
        """What went after a change: base numbers; and of what was put up to a sequence, ids."""
        numbers = self.run("SELECT number FROM removed WHERE change > ?", change)
        ids = self.run(
            "SELECT id FROM documents WHERE gone > ? AND sequence <= ?", change, sequence
        )
        return [row[0] for row in numbers], [row[0] for row in ids]

    def rebase(self, base: int, sequence: int, removed: Sequence[int], change: int) -> None:
        """A new base holds all that was put up to `sequence`, but of it `removed` is gone."""
        self.run("UPDATE state SET base = ?", base)
        self.erase()
        self.run("UPDATE documents SET gone = ? WHERE sequence <= ?", change, sequence)
        self.run("DELETE FROM removed")
        for number in removed:
            self.remove(number, change)

    def erase(self) -> None:
        """Delete the rows of documents that are gone."""
        self.run("DELETE FROM documents WHERE gone IS NOT NULL")
        self.run("DELETE FROM texts WHERE sequence NOT IN (SELECT sequence FROM documents)")

    def problems(self) -> list[str]:
        """What SQLite, and a look at how the rows belong together, find wrong with the file."""
        checked = [row[0] for row in self.run("PRAGMA integrity_check")]
        found = [] if checked == ["ok"] else checked
        for what, query in _RULES.items():
            ((count,),) = self.run(f"SELECT count(*) FROM {query}")
            found += [f"{count} {what}"] if count else []
        return found

    def _version(self) -> int:
        version = int(self.row("PRAGMA user_version")[0])
        if version > FORMAT:
            raise ArtifactError(
                f"{self.path}: format {version}, this tsgen knows {FORMAT}. "
                "Run: pip install -U tsgen"
            )
        return version


_RULES = {
    "documents without a text": "documents LEFT JOIN texts USING (sequence) WHERE text IS NULL",
    "texts without a document": "texts LEFT JOIN documents USING (sequence) WHERE id IS NULL",
    "documents without terms": "documents WHERE json_array_length(terms) = 0",
    "documents without a weight for each term": (
        "documents WHERE length(weights) != 4 * json_array_length(terms)"
    ),
    "documents taken away by a change that was not yet": (
        "documents, state WHERE gone > state.change"
    ),
}


def _parsed(metadata: str | None) -> list[Any]:
    return [] if metadata is None else [orjson.loads(metadata)]
