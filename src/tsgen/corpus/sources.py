"""Data sets made of sources: each source reads the records of one file, in whatever format, and the
checks of the records are the same for all.

The parts of this file are the report of bad records, the reading of plain and compressed text
files, sources, and the data set that checks every record it hands out.
"""

import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Generic, TypeVar, cast

import zstandard

from tsgen.artifact import hash_file, hash_strings
from tsgen.corpus.input_limits import ALWAYS, EXPANSION, LINE, too_long
from tsgen.errors import DataError
from tsgen.records import Document, Judgment, Judgments, Query

# Bad records: the first one raises, or all of them are collected.

ADVICE = "Correct it, or go on without such records with --skip-bad (in Python: skip_bad=True)."


class BadRecord(Exception):
    """Raised where one record cannot be read.

    Args:
        kind: The kind of problem, under which problems are counted.
        message: What was found and what was expected.
        place: File and line of the problem, where these are not the record's own.
    """

    def __init__(self, kind: str, message: str, place: tuple[str, int] | None = None) -> None:
        super().__init__(message)
        self.kind, self.place = kind, place


@dataclass(frozen=True, slots=True)
class Problem:
    """A bad record: its kind and place, and what was found and expected."""

    kind: str
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class Problems:
    """The bad records met so far; unless these are skipped, the first one raises `DataError`."""

    def __init__(self, *, skip_bad: bool) -> None:
        self.skip_bad = skip_bad
        self._found: dict[tuple[str, str, int], Problem] = {}

    def report(self, problem: Problem) -> None:
        """Raise `DataError`, or record the problem, once however often its file is read."""
        if not self.skip_bad:
            raise DataError(f"{problem}. {ADVICE}")
        self._found.setdefault((problem.kind, problem.file, problem.line), problem)

    @property
    def counts(self) -> dict[str, int]:
        """The number of problems of each kind, most frequent first."""
        return dict(Counter(problem.kind for problem in self).most_common())

    def summary(self) -> str:
        """One line for a log, e.g. `skipped 3 bad records: duplicate id 2, broken JSON 1`."""
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in self.counts.items())
        return f"skipped {len(self):,} bad records: {kinds}" if kinds else "no bad records"

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)


# Text files, plain or compressed: numbered lines, and errors that name the line.

COMPRESSIONS = (".gz", ".zst")
BUFFER = 2**20
_GZIP, _ZSTD, _BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"
PIECE = 1024  # compressed bytes read at a time: they may stand for 32 MiB
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file's bytes, decompressed if its first bytes say so, whatever its name."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}; expected a readable file") from None
    if magic.startswith(_GZIP):
        return io.BufferedReader(_Expanding(path, cast(io.RawIOBase, gzip.GzipFile(path))), BUFFER)
    if magic == _ZSTD:
        return io.BufferedReader(_Expanding(path, _Frames(path)), BUFFER)
    return path.open("rb")


class _Expanding(io.RawIOBase):
    """What a compressed file expands to, as long as it is not suspiciously much."""

    def __init__(self, path: Path, expanded: io.RawIOBase) -> None:
        self._path, self._expanded = path, expanded
        self._left = max(ALWAYS, EXPANSION * path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        count = self._expanded.readinto(buffer)
        self._left -= count or 0
        if self._left < 0:
            raise DataError(
                f"{self._path}: expands to more than {EXPANSION} times its size; expected a text, "
                "which expands to 3 to 20 times. If it is one, decompress it first."
            )
        return count

    def close(self) -> None:
        self._expanded.close()
        super().close()


class _Frames(io.RawIOBase):
    """A reader of Zstandard frames that, unlike the library's own, does not take a truncated frame
    for the end of the file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._pieces = self._decompressed()
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        target = memoryview(buffer)
        count = min(len(target), len(self._left))
        target[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()

    def _decompressed(self) -> Iterator[bytes]:
        frame, unused = None, b""
        while compressed := unused or self._file.read(PIECE):
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(compressed)
            unused = frame.unused_data
            frame = None if frame.eof else frame
        if frame is not None:
            raise EOFError("its last part is missing")


def all_lines(path: Path) -> Iterator[bytes]:
    """Stream every line with its line end, blank ones included, without a byte order mark."""
    number = 0
    with open_bytes(path) as file:
        try:
            while line := file.readline(LINE + 1):
                number += 1
                if len(line) > LINE:
                    raise DataError(
                        f"{path}:{number}: the line is longer than {LINE // 2**20} MiB; expected "
                        "one record a line. Is it a file of another format?"
                    )
                yield line.removeprefix(_BOM) if number == 1 else line
        except DAMAGE as error:
            raise damaged(f"{path}:{number + 1}", error) from None


def damaged(place: str, error: Exception) -> DataError:
    """The error of a compressed file that cannot be read to its end."""
    return DataError(
        f"{place}: the compressed file is damaged here ({error}); expected a complete file. "
        "Copy or download it again."
    )


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Stream lines without their ends, numbered from 1; blank lines are counted but left out."""
    for number, line in enumerate(all_lines(path), start=1):
        stripped = line.rstrip(b"\r\n")
        if stripped and not stripped.isspace():
            yield number, stripped


def first_line(path: Path) -> bytes:
    """The first line that is not blank, or nothing for an empty file."""
    return next(numbered_lines(path), (0, b""))[1]


def decode(line: bytes) -> str:
    """Decode a line; `BadRecord` where it is not UTF-8."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise _not_utf8(line.decode("utf-8", "surrogateescape")) from None


def check_decoded(text: str) -> str:
    """Return text that was decoded with `surrogateescape`; `BadRecord` where it was not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _not_utf8(text) from None
    return text


def _not_utf8(text: str) -> BadRecord:
    at = next(i for i, char in enumerate(text) if "\ud800" <= char <= "\udfff")
    return BadRecord(
        "invalid UTF-8",
        f"after {text[max(0, at - 20) : at]!r} comes 0x{ord(text[at]) & 0xFF:02x}, which is not "
        "valid UTF-8; expected UTF-8 (convert with: iconv -f latin1 -t utf-8)",
    )


def stem_and_format(path: Path) -> tuple[str, str]:
    """A file's name without its format and compression, and the format: `a.b.tsv.gz` → a.b, tsv."""
    plain = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return plain.stem, plain.suffix.removeprefix(".")


def find_file(folder: Path, *names: str) -> Path | None:
    """The first of these files that a folder has, plain or compressed."""
    candidates = (folder / f"{name}{end}" for name in names for end in ("", *COMPRESSIONS))
    return next((path for path in candidates if path.is_file()), None)


# Sources of records, and the data set made of them.

T = TypeVar("T")
USUAL_SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """A reader of records of one kind: documents, queries or judgments.

    `raw` streams numbered raw records (lines, rows, objects). `make` turns one into a record, into
    None where it is none (a header, a document outside a list of ids), or raises `BadRecord`.
    `digest` hashes what decides the records.
    """

    name: str
    raw: Callable[[], Iterator[tuple[int, Any]]]
    make: Callable[[Any], T | None]
    digest: Callable[[], str]
    remote: bool = False  # reading it may need a download

    def rows(self, problems: Problems) -> Iterator[tuple[int, T]]:
        """Stream the records with their line numbers; bad ones are reported to `problems`."""
        for line, raw in self.raw():
            try:
                record = self.make(raw)
            except BadRecord as bad:
                file, line = bad.place or (self.name, line)
                problems.report(Problem(bad.kind, file, line, str(bad)))
                continue
            if record is not None:
                yield line, record

    def is_empty(self) -> bool:
        """Whether there is no record at all, good or bad; a remote source is not read for that."""
        if self.remote:
            return False
        problems = Problems(skip_bad=True)
        return next(self.rows(problems), None) is None and not len(problems)


def file_source(
    path: Path,
    make: Callable[[Any], T | None],
    *options: str,
    raw: Callable[[Path], Iterator[tuple[int, Any]]] = numbered_lines,
) -> Source[T]:
    """A source that reads a file.

    Args:
        path: The file.
        make: Turns a raw record into a record (see `Source`).
        options: What decides the records beside the file, for the hash.
        raw: Streams the file's raw records; by default its lines.
    """
    return Source(
        name=str(path),
        raw=lambda: raw(path),
        make=make,
        digest=lambda: hash_strings(hash_file(path), *options),
    )


@dataclass(slots=True)
class Layout:
    """The sources of a data set, as a loader has found them in a folder, a file or a hub."""

    documents: Source[Document]
    queries: Sequence[Source[Query]] = ()
    judgments: Mapping[str, Source[Judgment]] = field(default_factory=dict)


class DocumentIds:
    """A set of document ids that takes no memory as long as each id is the document's position.

    That is how MS MARCO numbers its 8.8 million passages; as strings they would take a gigabyte.
    """

    def __init__(self) -> None:
        self._dense = 0  # ids "0" to this number, less one
        self._others: set[str] | None = None  # all ids, once one is not its position

    def add(self, name: str) -> bool:
        """Add an id; False if it was there."""
        if self._others is None:
            if name == str(self._dense):
                self._dense += 1
                return True
            if name in self:
                return False
            self._others = set(map(str, range(self._dense)))
        if name in self._others:
            return False
        self._others.add(name)
        return True

    def __contains__(self, name: object) -> bool:
        if self._others is not None:
            return name in self._others
        if not (isinstance(name, str) and name.isascii() and name.isdigit()):
            return False
        if len(name) > len(str(self._dense)):  # Python reads no number of thousands of digits
            return False
        return str(int(name)) == name and int(name) < self._dense

    def __len__(self) -> int:
        return self._dense if self._others is None else len(self._others)


class SourcedDataSet:
    """A `DataSet` over sources that checks every record it hands out."""

    def __init__(self, name: str, layout: Layout, *, skip_bad: bool = False) -> None:
        self.name = name
        self.problems = Problems(skip_bad=skip_bad)
        self._layout = layout
        self._document_ids: DocumentIds | None = None

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the documents' bytes and of the options that decide the records."""
        return self._layout.documents.digest()

    @cached_property
    def splits(self) -> list[str]:
        """The splits that have judgments: train, dev and test first, then the others by name."""
        sources = self._layout.judgments
        return sorted((s for s in sources if not sources[s].is_empty()), key=_usual_first)

    @property
    def empty_splits(self) -> list[str]:
        """The splits that have a file without a single judgment in it."""
        return sorted(set(self._layout.judgments) - set(self.splits), key=_usual_first)

    def documents(self) -> Iterator[Document]:
        """All documents, in file order; a document has an id of its own, and a title or a text."""
        source = self._layout.documents
        ids = DocumentIds()
        for line, document in source.rows(self.problems):
            if document.id in ids:
                self._report("duplicate id", source, line, _twice("document", document.id))
            elif not (document.text.strip() or document.title.strip()):
                self._report("empty text", source, line, _no_text(document.id))
            elif long := too_long(document.title, document.text):
                self._report("too long", source, line, long)
            else:
                ids.add(document.id)
                yield document
        if not len(ids):
            raise DataError(f"{source.name}: no documents in it; expected at least one.")
        self._document_ids = ids

    def queries(self) -> Mapping[str, Query]:
        """All queries of all splits, by id."""
        return self._queries

    @cached_property
    def _queries(self) -> dict[str, Query]:
        found: dict[str, Query] = {}
        for source in self._layout.queries:
            here: set[str] = set()
            for line, query in source.rows(self.problems):
                # The same query may come in several files: MS MARCO's dev.small is part of dev.
                known = found.get(query.id, query)
                if not query.text.strip():
                    self._report("empty text", source, line, _no_words(query.id))
                elif query.id in here or known.text != query.text:
                    self._report("duplicate id", source, line, _twice("query", query.id))
                else:
                    here.add(query.id)
                    found[query.id] = query
        return found

    def judgments(self, split: str) -> Judgments:
        """The judgments of a split, checked: they name known queries and known documents.

        Grades of 0 and less are kept; they say that a document is not relevant.
        """
        source = self._source_of(split)
        grades: Judgments = {}
        for line, judgment in source.rows(self.problems):
            if self._is_known(judgment, source, line):
                known = grades.setdefault(judgment.query_id, {})
                if known.setdefault(judgment.document_id, judgment.grade) != judgment.grade:
                    self._report("two grades", source, line, _two_grades(judgment, known))
        if not grades:
            raise DataError(f"{source.name}: no judgments in it. {self._choice(split)}")
        return grades

    def _source_of(self, split: str) -> Source[Judgment]:
        if split not in self._layout.judgments:
            raise DataError(f"{self.name}: no split named {split!r}. {self._choice(split)}")
        return self._layout.judgments[split]

    def _choice(self, split: str) -> str:
        """The last sentence of the message about a split that cannot be used."""
        names = ", ".join(name for name in self.splits if name != split)
        return f"Splits with judgments: {names or 'none'}."

    def _is_known(self, judgment: Judgment, source: Source[Judgment], line: int) -> bool:
        if judgment.query_id not in self._queries:
            kind, what, name = "unknown query", "query", judgment.query_id
            files = (
                ", ".join(s.name for s in self._layout.queries) or "any file: there are no queries"
            )
        elif judgment.document_id not in self.document_ids():
            kind, what, name = "unknown document", "document", judgment.document_id
            files = self._layout.documents.name
        else:
            return True
        self._report(kind, source, line, f"{what} {name!r} is not in {files}")
        return False

    def document_ids(self) -> DocumentIds:
        """The ids of all documents; kept after the first complete pass."""
        if self._document_ids is None:
            for _ in self.documents():
                pass
        assert self._document_ids is not None
        return self._document_ids

    def _report(self, kind: str, source: Source[Any], line: int, message: str) -> None:
        self.problems.report(Problem(kind, source.name, line, message))


def _usual_first(split: str) -> tuple[int, str]:
    return (USUAL_SPLITS.index(split) if split in USUAL_SPLITS else len(USUAL_SPLITS), split)


def _twice(what: str, name: str) -> str:
    return f"the {what} id {name!r} was used before; expected ids that differ"


def _no_words(name: str) -> str:
    return f"query {name!r} is empty; expected some words"


def _no_text(name: str) -> str:
    return f"document {name!r} has neither text nor title; expected one of them"


def _two_grades(judgment: Judgment, known: Mapping[str, int]) -> str:
    pair = f"query {judgment.query_id!r}, document {judgment.document_id!r}"
    return f"{pair} has grade {judgment.grade} here and {known[judgment.document_id]} before"
