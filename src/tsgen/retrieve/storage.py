"""The immutable part of a collection: the term sets and documents that an engine was made with, or
that a later compaction wrote."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from tsgen.arrays import load_array, offsets_of, save_array, smallest_offsets
from tsgen.artifact import open_artifact
from tsgen.docids.term_set import TermSets
from tsgen.errors import DamagedError
from tsgen.integrity import CHECK, line_checksum, require_offsets
from tsgen.records import Document
from tsgen.retrieve.filters import parse
from tsgen.retrieve.store import as_json
from tsgen.terms.words import Counting, Lexicon

# The documents of an engine on disk: one JSON line each, found by number through offsets.

LINES, OFFSETS, CHECKSUMS = "documents.jsonl", "document_offsets", "document_checksums"


class DocumentStore:
    """Documents by number, each read from disk when it is asked for. The file is mapped once, so
    a reader goes on when it has been replaced by another.

    Each line has a checksum of its own, which is compared when the line is read. So opening does
    not read the texts, and where one is damaged all others can be had.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LINES
        self._offsets = load_array(folder, OFFSETS)  # [D + 1]
        self._checksums = load_array(folder, CHECKSUMS)  # [D]
        self._lines = _mapped(self._path)
        rows, size = len(self._checksums), len(self._lines)
        require_offsets(folder / f"{OFFSETS}.npy", self._offsets, rows, size)

    @staticmethod
    def write(documents: Iterable[Document], folder: Path) -> None:
        """Write documents in their order."""
        lengths, checksums = [], []
        with (folder / LINES).open("wb") as file:
            for document in documents:
                row: list[Any] = [document.id, document.title, document.text]
                row += [document.metadata] if document.metadata else []
                line = as_json(row, document.id) + b"\n"
                lengths.append(file.write(line))
                checksums.append(line_checksum(line))
        save_array(folder, OFFSETS, smallest_offsets(offsets_of(np.array(lengths, np.int64))))
        save_array(folder, CHECKSUMS, np.array(checksums, np.uint64))

    def __len__(self) -> int:
        return len(self._checksums)

    def __getitem__(self, number: int) -> Document:
        start, end = int(self._offsets[number]), int(self._offsets[number + 1])
        line = self._lines[start:end].tobytes()
        if line_checksum(line) != int(self._checksums[number]):
            raise DamagedError(
                f"{self._path}: the text of document number {number:,}, in bytes {start:,} to "
                f"{end:,}, is not what was written. {CHECK}"
            )
        document_id, title, text, *metadata = orjson.loads(line)
        return Document(document_id, text, title, *metadata)

    def __iter__(self) -> Iterator[Document]:
        return (self[number] for number in range(len(self)))

    def damaged(self) -> list[int]:
        """The numbers of the documents that cannot be read as they were written."""
        found = []
        for number in range(len(self)):
            try:
                self[number]
            except DamagedError:
                found.append(number)
        return found


def _mapped(path: Path) -> NDArray[np.uint8]:
    try:
        if path.stat().st_size == 0:  # which cannot be mapped
            return np.zeros(0, np.uint8)
        return np.memmap(path, np.uint8, mode="r")
    except OSError as error:
        raise DamagedError(f"{path}: {error.strerror}; expected an engine's documents.") from None


TERMS, BASE = "terms", "base-"
BASE_KIND = "base"  # of the folders that a compaction writes
FILTERS = 64  # whose matches are remembered


class Base:
    """Documents and their term sets; lookup tables are built once."""

    def __init__(self, folder: Path, kind: str | None = None) -> None:
        """Open the folder of a base; its files are checked if it holds this `kind`, and else were
        checked before."""
        self.folder = folder
        if kind is not None:
            open_artifact(folder, kind, in_places={LINES})
        self.sets = TermSets.load(folder / TERMS)
        self.documents = DocumentStore(folder)
        self._matches: dict[str, NDArray[np.bool_]] = {}  # no cache that refers to this object

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

    def matching(self, where: str) -> NDArray[np.bool_]:
        """[D] whether a document's metadata passes a filter."""
        found = self._matches.get(where)
        if found is None:
            passes = parse(where)
            found = np.array([passes(metadata) for metadata in self.metadata], np.bool_)
            if len(self._matches) < FILTERS:
                self._matches[where] = found
        return found


class Bases:
    """The bases of an engine's folder by number, each opened once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: tuple[int, Base] | None = None

    def __call__(self, number: int) -> Base:
        """The base with a number."""
        last = self._last  # one read: several threads may ask
        if last is None or last[0] != number:
            kind = BASE_KIND if number else None  # the first base is checked with the engine
            last = self._last = number, Base(base_folder(self._folder, number), kind)
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


def base_folder(engine: Path, number: int) -> Path:
    """The folder of the base with a number; the first base is in the engine's folder itself."""
    return engine / f"{BASE}{number}" if number else engine
