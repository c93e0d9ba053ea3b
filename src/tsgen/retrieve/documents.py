"""The documents of an engine on disk: one JSON line each, found by number through offsets."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import orjson

from tsgen.records import Document
from tsgen.terms.arrays import load_array, offsets_of, save_array, smallest_offsets

LINES, OFFSETS = "documents.jsonl", "document_offsets"


class DocumentStore:
    """Documents by number, read from disk one at a time."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LINES
        self._offsets = load_array(folder, OFFSETS)  # [D + 1]

    @staticmethod
    def write(documents: Iterable[Document], folder: Path) -> None:
        """Write documents in their order, without their metadata."""
        lengths = []
        with (folder / LINES).open("wb") as file:
            for document in documents:
                row = [document.id, document.title, document.text]
                line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
                lengths.append(file.write(line))
        save_array(folder, OFFSETS, smallest_offsets(offsets_of(np.array(lengths, np.int64))))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> Document:
        start, end = int(self._offsets[number]), int(self._offsets[number + 1])
        with self._path.open("rb") as file:
            file.seek(start)
            return _document(file.read(end - start))

    def __iter__(self) -> Iterator[Document]:
        with self._path.open("rb") as file:
            for line in file:
                yield _document(line)


def _document(line: bytes) -> Document:
    document_id, title, text = orjson.loads(line)
    return Document(document_id, text, title)
