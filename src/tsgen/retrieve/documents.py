"""The documents of an engine on disk: one JSON line each, found by number through offsets."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from tsgen.errors import ArtifactError, DataError
from tsgen.records import Document
from tsgen.terms.arrays import load_array, offsets_of, save_array, smallest_offsets

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
