"""What changed in a collection since its base was written: an SQLite file in the engine's folder.

A change is one transaction in WAL mode with synchronous=FULL: when it returns it is on disk, and a
kill at any moment leaves all of it or nothing. Readers never wait, a writer waits for another.

A document that goes keeps its rows, marked with the change that took it, until the collection is
compacted: readers that still know it can go on reading it. So do the rows of documents that a
compaction wrote into the base, until the next one. What is deleted then is overwritten.

SQLite has no checksums of its own, so each row has one, and the only row of `state` has the number
of rows of each kind with a sum over them: rows that are missing are told as well as rows that are
others. A small file beside, the mark, has the number of the last change. A store that has fewer
changes (or none, being lost or emptied) has lost some, and is refused rather than believed.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from tsgen.artifact import MARK
from tsgen.artifact import STORE as FILE
from tsgen.errors import ArtifactError, DamagedError, DataError
from tsgen.integrity import CHECK, checksum, row_checksum
from tsgen.records import Document
from tsgen.retrieve.database import Database, file_identity

FORMAT = 3

_SCHEMA = """
CREATE TABLE state (
    base INTEGER NOT NULL,
    change INTEGER NOT NULL,
    tally TEXT NOT NULL,         -- how many rows of each kind there are, and a sum over them
    checksum INTEGER NOT NULL    -- of this row
);
CREATE TABLE documents (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    terms TEXT NOT NULL,         -- T(D) as JSON, heaviest first
    weights BLOB NOT NULL,       -- of the terms, float32
    vectors BLOB,                -- as `DocumentVectors.pack` has them; NULL for none
    set_hash INTEGER NOT NULL,   -- of T(D)
    words_hash INTEGER NOT NULL, -- of all words
    metadata TEXT,               -- JSON, or NULL for none
    gone INTEGER,                -- the change that took it away, or NULL
    checksum INTEGER NOT NULL    -- of all columns but the two before
);
CREATE UNIQUE INDEX there ON documents (id) WHERE gone IS NULL;
CREATE INDEX sets ON documents (set_hash) WHERE gone IS NULL;
CREATE TABLE texts (
    sequence INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    checksum INTEGER NOT NULL    -- of these, and of the document's id and metadata
);
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


class Unfinished:
    """The changes that are on disk or about to be, and whose calls have not returned."""

    def __init__(self) -> None:
        self._numbers, self._changing = frozenset[int](), Lock()

    def add(self, number: int) -> None:
        """Count a change as unfinished, before anyone can see it."""
        with self._changing:
            self._numbers |= {number}

    def remove(self, numbers: Sequence[int]) -> None:
        """Count changes as finished, or as never made."""
        with self._changing:
            self._numbers -= set(numbers)

    def cover(self, seen: State, now: State) -> bool:
        """Whether all changes between two states are unfinished, so that the earlier one is as good
        as the later one. Call it after both were read."""
        if seen.change >= now.change:
            return True
        between = range(seen.change + 1, now.change + 1)
        return seen.base == now.base and self._numbers.issuperset(between)


@dataclass(frozen=True, slots=True)
class Added:
    """A document that is not in the base, without its text."""

    sequence: int
    id: str
    terms: tuple[str, ...]
    weights: NDArray[np.float32]
    vectors: bytes | None  # as `DocumentVectors.pack` has them
    metadata: str | None  # JSON


@dataclass(slots=True)
class Count:
    """How many rows of a kind there are, and the sum of their hashes."""

    rows: int = 0
    total: int = 0

    def add(self, hashed: int, sign: int = 1) -> None:
        """Count a row, or with the sign −1 forget it."""
        self.rows += sign
        self.total = (self.total + sign * hashed) % 2**64


@dataclass(slots=True)
class Tally:
    """The rows of each kind, as they are written in the store's state."""

    there: Count = field(default_factory=Count)  # documents, by sequence number
    gone: Count = field(default_factory=Count)  # documents, by sequence number and change
    removed: Count = field(default_factory=Count)  # the base's documents, by number and change
    spellings: Count = field(default_factory=Count)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `as_json` wrote."""
        return cls(**{name: Count(**values) for name, values in orjson.loads(text).items()})

    def as_json(self) -> str:
        """As it stands in the store."""
        return orjson.dumps(asdict(self)).decode()


class Store(Database):
    """The documents that were added to and removed from one engine since its base was written."""

    _state: State | None = None  # while a change is written
    _tally: Tally

    @classmethod
    def create(cls, folder: Path) -> Self:
        """Open the store of an engine's folder to change it, making it if it is not there. All of
        it is checked: a change looks rows up, and one that is not found is not missed."""
        changes = read_mark(folder)
        if changes and not _filled(folder / FILE):
            raise _lost(folder, changes, 0)
        store = cls(folder / FILE)
        if not store._version():
            store._make()
        if problems := store.problems():
            raise DamagedError(f"{store.path}: {problems[0]}. {CHECK}")
        return store

    @classmethod
    def open(cls, folder: Path) -> Self | None:
        """Open the store of an engine's folder; None if nothing was ever changed."""
        changes = read_mark(folder)
        if not _filled(folder / FILE):
            if changes:
                raise _lost(folder, changes, 0)
            return None
        store = cls(folder / FILE)
        if not store._version():
            store.close()
            if changes:
                raise _lost(folder, changes, 0)
            return None
        if (found := store.state().change) < changes:
            store.close()
            raise _lost(folder, changes, found)
        return store

    @classmethod
    def start(cls, folder: Path, base: int) -> None:
        """Make a store without changes for an engine that has this base."""
        store = cls.create(folder)
        with store.writing():
            store._state = State(base, max(base, 1))
        store.close()

    def is_current(self) -> bool:
        """Whether the path still names the file that was opened."""
        return self.seen is not None and file_identity(self.path) == self.seen

    def state(self) -> State:
        """The current base and the number of the last change, whoever made it."""
        return self._state or self._read_state()[0]

    def tally(self) -> Tally:
        """How many rows of each kind there must be."""
        return self._read_state()[1]

    def _read_state(self) -> tuple[State, Tally]:
        rows = self.run("SELECT base, change, tally, checksum FROM state")
        if len(rows) != 1 or row_checksum(*rows[0][:3]) != rows[0][3]:
            raise DamagedError(f"{self.path}: its state is not what was written. {CHECK}")
        return State(*rows[0][:2]), Tally.parse(rows[0][2])

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A change that is written as a whole; its number is then on the mark, too."""
        with self._turn:
            try:
                with super().writing():
                    self._state, self._tally = self._read_state()
                    yield
                change = self._state.change
            finally:
                self._state = None
            write_mark(self.path.parent, change)

    def _before_commit(self) -> None:
        if self._state is not None:
            self._write_state(self._state, self._tally)

    def _write_state(self, state: State, tally: Tally) -> None:
        values = (*state, tally.as_json())
        self.run(
            "UPDATE state SET base = ?, change = ?, tally = ?, checksum = ?",
            *values,
            row_checksum(*values),
        )

    def _make(self) -> None:
        with super().writing():
            if self._version():
                return  # another process has just made it
            for statement in _SCHEMA.split(";\n")[:-1]:
                self.run(statement)
            self.run("INSERT INTO state VALUES (0, 0, '', 0)")
            self._write_state(State(0, 0), Tally())
            self.run(f"PRAGMA user_version = {FORMAT}")

    def changed(self) -> int:
        """Count one more change; returns its number."""
        assert self._state is not None
        self._state = State(self._state.base, self._state.change + 1)
        return self._state.change

    def sequences(self) -> NDArray[np.int64]:
        """Sequence numbers of the documents that are there, ascending: the order in which they were
        added."""
        rows = self.run("SELECT sequence FROM documents INDEXED BY there WHERE gone IS NULL")
        found = self._numbers(rows, 1)
        self._require("there", mixed(*found))
        sequences: NDArray[np.int64] = np.sort(found[0])
        return sequences

    def last(self) -> int:
        """The last sequence number, of a document that is there or gone."""
        return int(self.row("SELECT coalesce(max(sequence), 0) FROM documents")[0])

    def added(self, after: int) -> list[Added]:
        """The documents that are there and were added after a sequence number, in order."""
        rows = self.run(
            "SELECT sequence, id, terms, weights, vectors, set_hash, words_hash, metadata, "
            "checksum FROM documents WHERE sequence > ? AND gone IS NULL ORDER BY sequence",
            after,
        )
        return [self._checked(row) for row in rows]

    def _checked(self, row: Any) -> Added:
        *values, expected = row
        if row_checksum(*values) != expected:
            raise DamagedError(
                f"{self.path}: the row of document {values[1]!r} is not what was written. {CHECK}"
            )
        sequence, id, terms, weights, vectors, _, _, metadata = values
        spelled = tuple(orjson.loads(terms))
        return Added(sequence, id, spelled, np.frombuffer(weights, "<f4"), vectors, metadata)

    def removed(self) -> NDArray[np.int64]:
        """The numbers of the base's documents that are gone or replaced, ascending."""
        rows = self.run("SELECT number, change FROM removed ORDER BY number")
        found = self._numbers(rows, 2)
        self._require("removed", mixed(*found))
        numbers: NDArray[np.int64] = found[0]
        return numbers

    def document(self, sequence: int) -> Document | None:
        """A document by its sequence number, gone or not; None once it was compacted away."""
        row = self.row(
            "SELECT id, text, title, metadata, texts.checksum FROM documents JOIN texts "
            "USING (sequence) WHERE sequence = ?",
            sequence,
        )
        if row is None:
            return None
        id, text, title, metadata, expected = row
        if row_checksum(sequence, id, title, text, metadata) != expected:
            raise DamagedError(
                f"{self.path}: the text of document {id!r} is not what was written. {CHECK}"
            )
        return Document(id, text, title, *_parsed(metadata))

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
        """Remember the spelling of the terms with a key, which has none yet."""
        self.run("INSERT INTO spellings VALUES (?, ?)", key, term)
        self._tally.spellings.add(_of_spelling(key, term))

    def insert(
        self,
        document: Document,
        terms: Sequence[str],
        weights: Sequence[float],
        vectors: bytes | None,
        set_hash: int,
        words_hash: int,
    ) -> int:
        """Add a document; returns its sequence number."""
        metadata = as_json(document.metadata, document.id).decode() if document.metadata else None
        spelled, weighed = orjson.dumps(terms).decode(), np.array(weights, "<f4").tobytes()
        before = self.row("SELECT seq FROM sqlite_sequence WHERE name = 'documents'")
        sequence = 1 if before is None else int(before[0]) + 1
        row = (sequence, document.id, spelled, weighed, vectors, set_hash, words_hash, metadata)
        self.run(
            "INSERT INTO documents (sequence, id, terms, weights, vectors, set_hash, words_hash, "
            "metadata, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(*row, row_checksum(*row)),
        )
        read = sequence, document.id, document.title, document.text, metadata
        shown = sequence, document.title, document.text
        self.run("INSERT INTO texts VALUES (?, ?, ?, ?)", *shown, row_checksum(*read))
        self._tally.there.add(int(mixed(sequence)))
        return sequence

    def take_away(self, sequence: int, change: int) -> None:
        """Mark a document that is there, but not in the base, as removed."""
        self.run("UPDATE documents SET gone = ? WHERE sequence = ?", change, sequence)
        self._tally.there.add(int(mixed(sequence)), -1)
        self._tally.gone.add(int(mixed(sequence, change)))

    def remove(self, number: int, change: int) -> bool:
        """Mark a document of the base as removed; returns whether it was there."""
        if self.is_removed(number):
            return False
        self.run("INSERT INTO removed VALUES (?, ?)", number, change)
        self._tally.removed.add(int(mixed(number, change)))
        return True

    def is_removed(self, number: int) -> bool:
        """Whether a document of the base is marked as removed."""
        return self.row("SELECT 1 FROM removed WHERE number = ?", number) is not None

    def later(self, change: int, sequence: int) -> tuple[list[int], list[str]]:
        """Numbers of base documents that were removed after a change; and ids of documents added up
        to a sequence number that were removed after the change."""
        self._require_counted("gone")
        numbers = self.run("SELECT number FROM removed WHERE change > ?", change)
        ids = self.run(
            "SELECT id FROM documents WHERE gone > ? AND sequence <= ?", change, sequence
        )
        return [row[0] for row in numbers], [row[0] for row in ids]

    def rebase(self, base: int, sequence: int, removed: Sequence[int], change: int) -> None:
        """Switch to a new base that holds all documents added up to `sequence`; of these, `removed`
        are gone."""
        assert self._state is not None
        self._state = State(base, self._state.change)
        self.erase()
        self.run(
            "UPDATE documents SET gone = ? WHERE sequence <= ? AND gone IS NULL", change, sequence
        )
        self.run("DELETE FROM removed")
        self._tally.removed = Count()
        for number in removed:
            self.remove(number, change)
        self._tally.there, self._tally.gone = self._counted("there"), self._counted("gone")

    def erase(self) -> None:
        """Delete the rows of documents that are gone, and spellings that no document uses."""
        self.run("DELETE FROM documents WHERE gone IS NOT NULL")
        self.run("DELETE FROM texts WHERE sequence NOT IN (SELECT sequence FROM documents)")
        self.run(
            "DELETE FROM spellings WHERE term NOT IN "
            "(SELECT value FROM documents, json_each(documents.terms))"
        )
        self._tally.gone, self._tally.spellings = Count(), self._counted("spellings")

    def problems(self) -> list[str]:
        """Problems with the file that SQLite finds, or a look at its rows."""
        with self.reading():
            checked = [row[0] for row in self.run("PRAGMA integrity_check")]
            found = [] if checked == ["ok"] else checked
            for what, query in _RULES.items():
                ((count,),) = self.run(f"SELECT count(*) FROM {query}")
                found += [f"{count} {what}"] if count else []
            tally = asdict(self.tally())
            for kind in tally:
                if asdict(self._counted(kind)) != tally[kind]:
                    found.append(f"rows are missing or are others: {_KINDS[kind]}")
            wrong = [id for id, _, whole in self.rows() if not whole]
            return found + [f"the row of document {id!r} is not what was written" for id in wrong]

    def rows(self) -> Iterator[tuple[str, Document | None, bool]]:
        """The id of every document that is there, the document if it can be read, and whether all
        of its rows are as they were written."""
        columns = "sequence, id, terms, weights, vectors, set_hash, words_hash, metadata, checksum"
        for row in self.run(f"SELECT {columns} FROM documents WHERE gone IS NULL ORDER BY 1"):
            document, whole = None, True
            try:
                self._checked(row)
            except (DamagedError, ValueError):
                whole = False
            with suppress(DamagedError, ValueError):
                document = self.document(row[0])
            yield row[1], document, whole and document is not None

    def _require(self, kind: str, hashes: NDArray[np.uint64]) -> None:
        expected = getattr(self._tally if self._state else self.tally(), kind)
        if Count(len(hashes), int(hashes.sum(dtype=np.uint64))) != expected:
            raise DamagedError(
                f"{self.path}: rows are missing or are others: {_KINDS[kind]}. {CHECK}"
            )

    def _require_counted(self, kind: str) -> None:
        expected = getattr(self._tally if self._state else self.tally(), kind)
        if self._counted(kind) != expected:
            raise DamagedError(
                f"{self.path}: rows are missing or are others: {_KINDS[kind]}. {CHECK}"
            )

    def _counted(self, kind: str) -> Count:
        """The rows of a kind as they are."""
        rows = self.run(_ROWS[kind])
        if kind == "spellings":
            return Count(len(rows), sum(_of_spelling(*row) for row in rows) % 2**64)
        hashes = mixed(*self._numbers(rows, 1 if kind == "there" else 2))
        return Count(len(rows), int(hashes.sum(dtype=np.uint64)))

    def _numbers(self, rows: Sequence[Any], columns: int) -> NDArray[np.int64]:
        """[columns, rows] as an array."""
        try:
            found: NDArray[np.int64] = np.array(rows, np.int64).reshape(-1, columns).T
            return found
        except (ValueError, TypeError, OverflowError):
            raise DamagedError(f"{self.path}: found no numbers where such were. {CHECK}") from None

    def _version(self) -> int:
        version = int(self.row("PRAGMA user_version")[0])
        if version not in (0, FORMAT):  # 0: an empty file
            remedy = "Run: pip install -U tsgen-ir"
            if version < FORMAT:
                remedy = (
                    "Make the engine again under another name, and add what was added to this one: "
                    "tsgen add ENGINE FILE"
                )
            raise ArtifactError(
                f"{self.path}: format {version}, this tsgen knows {FORMAT}. {remedy}"
            )
        return version


_KINDS = {
    "there": "documents that were added",
    "gone": "documents that were added and removed",
    "removed": "removed documents of the base",
    "spellings": "spellings of terms",
}
_ROWS = {
    "there": "SELECT sequence FROM documents WHERE gone IS NULL",
    "gone": "SELECT sequence, gone FROM documents WHERE gone IS NOT NULL",
    "removed": "SELECT number, change FROM removed",
    "spellings": "SELECT key, term FROM spellings",
}
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


def mixed(*columns: Any) -> NDArray[np.uint64]:
    """A hash of each row of numbers (SplitMix64), to be summed up in any order."""
    hashed = np.zeros(np.shape(columns[0]), np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            hashed = hashed + np.asarray(column).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
            hashed = (hashed ^ (hashed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            hashed = (hashed ^ (hashed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            hashed = hashed ^ (hashed >> np.uint64(31))
    return hashed


def _of_spelling(key: str, term: str) -> int:
    return row_checksum(key, term) % 2**64


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


def _parsed(metadata: str | None) -> list[Any]:
    return [] if metadata is None else [orjson.loads(metadata)]


def _filled(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _lost(folder: Path, expected: int, found: int) -> DamagedError:
    """The error for a store with fewer changes than were made."""
    return DamagedError(
        f"{folder / FILE}: has {found:,} changes, {expected:,} were made (says {MARK}); expected "
        f"all of them. On a disk that cannot be written, {FILE}-wal may hold the rest: copy the "
        f"folder to another disk. {CHECK}"
    )


# The mark: a line with the number of the last change, written over and over in place. It is
# written after the change, so it may be one behind, and never ahead.

_DIGITS = 20


def read_mark(folder: Path) -> int:
    """The number of changes that an engine's store must have; `DamagedError` if there is no mark,
    which every engine has from the beginning."""
    try:
        text = (folder / MARK).read_bytes()
    except OSError as error:
        raise DamagedError(
            f"{folder / MARK}: {error.strerror}; expected the number of the engine's changes. "
            f"{CHECK}"
        ) from None
    digits = text[:_DIGITS]
    if not digits.isdigit() or text != _mark(int(digits)):
        raise DamagedError(f"{folder / MARK}: is not what was written. {CHECK}")
    return int(digits)


def write_mark(folder: Path, change: int) -> None:
    """Note the number of the last change; a disk that is in the way is none to the change."""
    with suppress(OSError):
        handle = os.open(folder / MARK, os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            os.pwrite(handle, _mark(change), 0)
        finally:
            os.close(handle)


def _mark(change: int) -> bytes:
    digits = f"{change:0{_DIGITS}}".encode()
    return digits + f" {checksum(digits)}\n".encode()
