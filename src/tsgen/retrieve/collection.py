"""A living collection: an engine whose documents change without training.

The engine's own arrays are an immutable base. What is put and removed since is in an SQLite file
beside it (`store.py`); a reader merges both into one snapshot (`reader.py`) when something changed.
New documents get their terms from the weights that the engine was made with (`placing.py`).
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from tsgen.records import Document, Hit
from tsgen.retrieve.base import Bases
from tsgen.retrieve.compacting import compact
from tsgen.retrieve.confidence import Calibration
from tsgen.retrieve.engine import Engine, EngineConfig, open_settings, weights_folder
from tsgen.retrieve.reader import Reader, Snapshot
from tsgen.retrieve.writer import Changed, Writer
from tsgen.train.generator import Generator

__all__ = ["Changed", "Collection"]


class Collection:
    """An engine's folder, searched and changed by any number of threads and processes at once.

    A search sees every change that was finished before it began, by whatever process, and nothing
    of one that is under way. Changes wait for one another.
    """

    def __init__(self, folder: Path, config: EngineConfig) -> None:
        self.folder, self.config = folder, config
        bases = Bases(folder)
        self._reader, self._reading = Reader(folder, config.model.query_tokens, bases), Lock()
        self._writer = Writer(folder, config.terms, weights_folder(folder), bases)
        self._snapshot: Snapshot | None = None
        self._engine: Engine = self.engine
        self._engine.generator.backbone.encode(["a"])  # so that no two threads set its tokenizer up

    @classmethod
    def open(cls, engine: Path | str) -> Self:
        """Any folder that `tsgen fit` or `tsgen index` wrote; what is to hold the changes is made
        in it at the first one."""
        return cls(Path(engine), open_settings(Path(engine)))

    def search(
        self,
        queries: Sequence[str],
        k: int = 10,
        beam: int | None = None,
        where: str | None = None,
        min_confidence: float | None = None,
    ) -> list[list[Hit]]:
        """At most `k` hits for each query, best first; `where` limits them to the documents whose
        metadata passes (see `where.py`), `min_confidence` to answers that are as sure."""
        return self.engine.search(queries, k, beam, where, min_confidence)

    def read(self, query: str) -> str:
        """The query as the model is given it."""
        return self.engine.read(query)

    def document(self, document_id: str) -> Document:
        """A document with its metadata; `DataError` if it is not there."""
        return self.engine.document(document_id)

    def put(self, documents: Sequence[Document]) -> Changed:
        """Add documents, or replace those of the same id. When it returns, all of them are on disk
        and the next search finds them; if it fails, none is."""
        return self._writer.put(documents)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove documents; how many. `DataError` names unknown ids: nothing is removed then."""
        return self._writer.remove(ids)

    def compact(self) -> None:
        """Write a new base with all changes in it, and put it in the place of the old one. Others
        may search and change the collection meanwhile."""
        compact(self.folder, self._read())

    def close(self) -> None:
        """Give the store back."""
        self._reader.close()
        self._writer.close()

    def __len__(self) -> int:
        return len(self.engine.documents)

    def __contains__(self, document_id: str) -> bool:
        return self.engine.documents.number(document_id) is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def generator(self) -> Generator:
        """Model, term sets and constraint as of the last change."""
        return self.engine.generator

    @property
    def engine(self) -> Engine:
        """The collection as of the last change: what is read through it belongs together, whatever
        changes meanwhile."""
        with self._reading:
            found = self._reader.read()
            if found is not self._snapshot:
                kept = weights_folder(self.folder), Calibration.load(self.folder)
                self._engine = Engine(found.generator, self.config, found.documents, *kept)
                self._snapshot = found
            return self._engine

    def _read(self) -> Snapshot:
        with self._reading:
            return self._reader.read()
