"""The immutable part of a collection: the term sets and documents that an engine was made with, or
that a later compaction wrote."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from tsgen.arrays import load_array, offsets_of, save_array, smallest_offsets
from tsgen.docids.term_set import TermSets
from tsgen.errors import ArtifactError, DataError
from tsgen.records import Document
from tsgen.retrieve.filters import parse
from tsgen.terms.words import FILE as LEXICON
from tsgen.terms.words import Counting, Lexicon

# A connection to an SQLite file: durable transactions, and errors that say what to do.

PATIENCE = 30.0  # seconds that a writer waits for another one


class Database:
    """A connection to an SQLite file; several threads may use it, and take turns."""

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


# The documents of an engine on disk: one JSON line each, found by number through offsets.

LINES, OFFSETS = "documents.jsonl", "document_offsets"


class DocumentStore:
    """Documents by number, each read from disk when it is asked for. The file is mapped once, so
    a reader goes on when it has been replaced by another."""

    def __init__(self, folder: Path) -> None:
        self._offsets = load_array(folder, OFFSETS)  # [D + 1]
        self._lines = _mapped(folder / LINES)

    @staticmethod
    def write(documents: Iterable[Document], folder: Path) -> None:
        """Write documents in their order."""
        lengths = []
        with (folder / LINES).open("wb") as file:
            for document in documents:
                row: list[Any] = [document.id, document.title, document.text]
                row += [document.metadata] if document.metadata else []
                lengths.append(file.write(as_json(row, document.id) + b"\n"))
        save_array(folder, OFFSETS, smallest_offsets(offsets_of(np.array(lengths, np.int64))))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> Document:
        start, end = int(self._offsets[number]), int(self._offsets[number + 1])
        document_id, title, text, *metadata = orjson.loads(self._lines[start:end].tobytes())
        return Document(document_id, text, title, *metadata)

    def __iter__(self) -> Iterator[Document]:
        return (self[number] for number in range(len(self)))


def as_json(value: Any, document_id: str) -> bytes:
    """A document's value as JSON; what JSON does not know is written as its text."""
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except TypeError as error:  # lone surrogates, integers of over 64 bits, a circle
        raise DataError(
            f"document {document_id!r} cannot be written as JSON ({error}); expected text in "
            "valid Unicode and metadata of strings, numbers, true, false, null, lists and objects."
        ) from None


def _plain(value: Any) -> Any:
    return dict(value.items()) if hasattr(value, "items") else str(value)


def _mapped(path: Path) -> NDArray[np.uint8]:
    try:
        if path.stat().st_size == 0:  # which cannot be mapped
            return np.zeros(0, np.uint8)
        return np.memmap(path, np.uint8, mode="r")
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror}; expected an engine's documents.") from None


# What changed in a collection since its base was written: an SQLite file in the engine's folder.
#
# A change is one transaction in WAL mode with synchronous=FULL: when it returns it is on disk, and
# a kill at any moment leaves all of it or nothing. Readers never wait, a writer waits for another.
#
# A document that goes keeps its rows, marked with the change that took it, until the collection is
# compacted: readers that still know it can go on reading it. So do the rows of documents that a
# compaction wrote into the base, until the next one.

FILE = "collection.sqlite"
FORMAT = 2

_SCHEMA = """
CREATE TABLE state (base INTEGER NOT NULL, change INTEGER NOT NULL);
INSERT INTO state VALUES (0, 0);
CREATE TABLE documents (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    terms TEXT NOT NULL,         -- T(D) as JSON, heaviest first
    weights BLOB NOT NULL,       -- of the terms, float32
    vectors BLOB,                -- [p, d] float16, or NULL where the generator keeps none
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
    vectors: NDArray[np.float16] | None  # [p · d] of its p passages, one after the other
    metadata: str | None  # JSON


class Store(Database):
    """The documents that were added to and removed from one engine since its base was written."""

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
        """The current base and the number of the last change, whoever made it."""
        return State(*self.row("SELECT base, change FROM state"))

    def changed(self) -> int:
        """Count one more change; returns its number."""
        self.run("UPDATE state SET change = change + 1")
        return self.state().change

    def sequences(self) -> NDArray[np.int64]:
        """Sequence numbers of the documents that are there, ascending: the order in which they were
        added."""
        rows = self.run("SELECT sequence FROM documents INDEXED BY there WHERE gone IS NULL")
        return np.sort(np.array([row[0] for row in rows], np.int64))

    def last(self) -> int:
        """The last sequence number, of a document that is there or gone."""
        return int(self.row("SELECT coalesce(max(sequence), 0) FROM documents")[0])

    def added(self, after: int) -> list[Added]:
        """The documents that are there and were added after a sequence number, in order."""
        rows = self.run(
            "SELECT sequence, id, terms, weights, vectors, metadata FROM documents "
            "WHERE sequence > ? AND gone IS NULL ORDER BY sequence",
            after,
        )
        return [_added(*row) for row in rows]

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
        """Sequence number and words hash of the documents that have a term set."""
        return self.run(
            "SELECT sequence, words_hash FROM documents WHERE set_hash = ? AND gone IS NULL",
            set_hash,
        )

    def spelling(self, key: str) -> str | None:
        """The spelling of the terms with a key, if a change rather than the base introduced it."""
        row = self.row("SELECT term FROM spellings WHERE key = ?", key)
        return None if row is None else str(row[0])

    def spell(self, key: str, term: str) -> None:
        """Remember the spelling of the terms with a key."""
        self.run("INSERT OR IGNORE INTO spellings VALUES (?, ?)", key, term)

    def insert(
        self,
        document: Document,
        terms: Sequence[str],
        weights: Sequence[float],
        vectors: NDArray[np.float16] | None,
        set_hash: int,
        words_hash: int,
    ) -> int:
        """Add a document; returns its sequence number."""
        metadata = as_json(document.metadata, document.id).decode() if document.metadata else None
        own = None if vectors is None else vectors.astype("<f2").tobytes()
        row = (document.id, orjson.dumps(terms).decode(), np.array(weights, "<f4").tobytes(), own)
        self.run(
            "INSERT INTO documents (id, terms, weights, vectors, set_hash, words_hash, metadata) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(*row, set_hash, words_hash, metadata),
        )
        ((sequence,),) = self.run("SELECT last_insert_rowid()")
        self.run("INSERT INTO texts VALUES (?, ?, ?)", sequence, document.title, document.text)
        return int(sequence)

    def take_away(self, sequence: int, change: int) -> None:
        """Mark a document that is not in the base as removed."""
        self.run("UPDATE documents SET gone = ? WHERE sequence = ?", change, sequence)

    def remove(self, number: int, change: int) -> bool:
        """Mark a document of the base as removed; returns whether it was there."""
        if self.is_removed(number):
            return False
        self.run("INSERT INTO removed VALUES (?, ?)", number, change)
        return True

    def is_removed(self, number: int) -> bool:
        """Whether a document of the base is marked as removed."""
        return self.row("SELECT 1 FROM removed WHERE number = ?", number) is not None

    def later(self, change: int, sequence: int) -> tuple[list[int], list[str]]:
        """Numbers of base documents that were removed after a change; and ids of documents added up
        to a sequence number that were removed after the change."""
        numbers = self.run("SELECT number FROM removed WHERE change > ?", change)
        ids = self.run(
            "SELECT id FROM documents WHERE gone > ? AND sequence <= ?", change, sequence
        )
        return [row[0] for row in numbers], [row[0] for row in ids]

    def rebase(self, base: int, sequence: int, removed: Sequence[int], change: int) -> None:
        """Switch to a new base that holds all documents added up to `sequence`; of these, `removed`
        are gone."""
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
        """Problems with the file that SQLite finds, or a look at how its rows belong together."""
        checked = [row[0] for row in self.run("PRAGMA integrity_check")]
        found = [] if checked == ["ok"] else checked
        for what, query in _RULES.items():
            ((count,),) = self.run(f"SELECT count(*) FROM {query}")
            found += [f"{count} {what}"] if count else []
        return found

    def _version(self) -> int:
        version = int(self.row("PRAGMA user_version")[0])
        if version not in (0, FORMAT):  # 0: an empty file
            remedy = "Run: pip install -U tsgen-ir"
            if version < FORMAT:
                remedy = (
                    "Remove the engine's folder, make it again with the command that made it, and "
                    "add what was added to it: tsgen add ENGINE FILE"
                )
            raise ArtifactError(
                f"{self.path}: format {version}, this tsgen knows {FORMAT}. {remedy}"
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


def _added(
    sequence: int, id: str, terms: str, weights: bytes, vectors: bytes | None, metadata: str | None
) -> Added:
    own = None if vectors is None else np.frombuffer(vectors, "<f2")
    spelled = tuple(orjson.loads(terms))
    return Added(sequence, id, spelled, np.frombuffer(weights, "<f4"), own, metadata)


def _parsed(metadata: str | None) -> list[Any]:
    return [] if metadata is None else [orjson.loads(metadata)]


TERMS, BASE = "terms", "base-"
FILTERS = 64  # whose matches are remembered


class Base:
    """Documents and their term sets; lookup tables are built once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sets = TermSets.load(folder / TERMS)
        self.documents = DocumentStore(folder)
        self.matching = lru_cache(FILTERS)(self._matching)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Every document's number by its id."""
        return self.sets.document_numbers()

    @cached_property
    def metadata(self) -> list[Mapping[str, Any]]:
        """The metadata of every document, by number."""
        return [document.metadata for document in self.documents]

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of all documents."""
        return Lexicon.load(self.folder)

    def _matching(self, where: str) -> NDArray[np.bool_]:
        """[D] whether a document's metadata passes a filter."""
        passes = parse(where)
        return np.array([passes(metadata) for metadata in self.metadata], np.bool_)


class Bases:
    """The bases of an engine's folder by number, each opened once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: tuple[int, Base] | None = None

    def __call__(self, number: int) -> Base:
        """The base with a number."""
        last = self._last  # one read: several threads may ask
        if last is None or last[0] != number:
            last = self._last = number, Base(base_folder(self._folder, number))
        return last[1]


def write_base(
    folder: Path, sets: TermSets, documents: Iterable[Document], lexicon: Lexicon | None = None
) -> None:
    """Write the files of a base into an existing folder; without a lexicon the words are
    counted."""
    (folder / TERMS).mkdir(exist_ok=True)
    sets.save(folder / TERMS)
    counting = Counting()
    passing = documents if lexicon else counting.passing(documents)
    DocumentStore.write(passing, folder)
    (lexicon or Lexicon(counting.frequencies)).save(folder)


def base_files(folder: Path) -> list[str]:
    """The names of the files that `write_base` wrote into a folder."""
    own = [folder / LINES, folder / f"{OFFSETS}.npy", folder / LEXICON]
    paths = [path for path in (*own, *(folder / TERMS).glob("*")) if path.is_file()]
    return [path.relative_to(folder).as_posix() for path in paths]


def base_folder(engine: Path, number: int) -> Path:
    """The folder of the base with a number; the first base is in the engine's folder itself."""
    return engine / f"{BASE}{number}" if number else engine
