"""An engine: a folder with everything that answers queries by generating term sets.

model/                        weights (safetensors), settings and tokenizer of the backbone
terms/                        T(D) and its postings
documents.jsonl, …offsets     ids, titles, texts and metadata, to show and to filter by
lexicon.json                  the documents' words, to correct misspelt queries by
confidence.json               the coefficients of the hits' confidence, if it was calibrated
weights/                      the term weights that give terms to documents added later
settings.json                 how the engine was made and how it searches
training/iteration-T.jsonl    learning curves
collection.sqlite             documents added and removed since (see `collection`)
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count, islice
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self, overload

import orjson

from tsgen.artifact import ENGINE, KEPT, open_artifact, seal
from tsgen.corpus.input_limits import check_queries
from tsgen.docids.term_set import TermSets
from tsgen.errors import (
    ArtifactError,
    DamagedError,
    DataError,
    TsgenError,
    UnknownDocumentError,
    named,
)
from tsgen.model.term_table import TermTable
from tsgen.owner import OpenFolder
from tsgen.progress import show
from tsgen.records import Document, Hit
from tsgen.retrieve.confidence import DEPTH, Calibration, sure_enough
from tsgen.retrieve.snapshot import (
    MODEL,
    NumberedDocuments,
    Reader,
    Snapshot,
    compact,
    compact_without_traces,
    part,
)
from tsgen.retrieve.storage import LINES, TERMS, Bases, write_base
from tsgen.retrieve.store import Unfinished, write_mark
from tsgen.retrieve.vector_search import write_first_stage
from tsgen.settings import EngineConfig
from tsgen.terms.passages import DocumentVectors

if TYPE_CHECKING:  # a search needs neither these nor what they import
    from tsgen.corpus.in_memory import Documents
    from tsgen.model.generator import Generator
    from tsgen.retrieve.collection import Begun, Changed, DocumentWriter

KIND = ENGINE
SETTINGS = "settings.json"
TOGETHER = 1000  # documents in one change: an interrupted `add` keeps the changes before it


class Engine:
    """A generative retriever and its documents, in a folder.

    Any number of threads and processes may search and change it at once. A search sees every
    change that was finished before it began, by whatever process, and nothing of a change that is
    under way: of one that is on disk while its call has not returned, a search may see all or
    nothing. Changes wait for one another.

        engine = tsgen.index(["rye bread keeps a week", "tea with milk"])
        engine.search("how long does bread keep?", k=1)
        engine.add([{"id": "oats", "text": "oats with sour milk"}])
        engine["oats"].text
    """

    def __init__(self, folder: Path) -> None:
        """Open the folder of an engine; `Engine.load` takes any path."""
        self._open = OpenFolder(folder)
        self.folder, self.config = folder, open_settings(folder)
        self._bases = Bases(folder)
        self._reader, self._reading = Reader(self._open, self.config, self._bases), Lock()
        self._changes: DocumentWriter | None = None
        self._latest: tuple[Snapshot, Calibration | None] | None = None
        self._unfinished = Unfinished()
        self._now()

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Open a folder that `tsgen.fit`, `tsgen.index`, their commands or `save` wrote."""
        return cls(Path(folder))

    @overload
    def search(  # type: ignore[overload-overlap]  # a str is a sequence of str, too
        self,
        queries: str,
        k: int = 10,
        *,
        beam: int | None = None,
        where: str | None = None,
        min_confidence: float | None = None,
    ) -> list[Hit]: ...

    @overload
    def search(
        self,
        queries: Sequence[str],
        k: int = 10,
        *,
        beam: int | None = None,
        where: str | None = None,
        min_confidence: float | None = None,
    ) -> list[list[Hit]]: ...

    def search(
        self,
        queries: str | Sequence[str],
        k: int = 10,
        *,
        beam: int | None = None,
        where: str | None = None,
        min_confidence: float | None = None,
    ) -> list[Hit] | list[list[Hit]]:
        """Find the best documents for a query, or for each of several queries.

        A hit has its reason: the terms in the order they were generated, the log p of each, and
        how many documents were left after it.

        Args:
            queries: One query, for one list of hits; or several, for a list of such lists.
            k: The most hits for a query.
            beam: Hypotheses to keep at each step; by default the engine's setting.
            where: A filter by metadata, such as `lang = "en" and year >= 2020`.
            min_confidence: Between 0 and 1. A query whose first hit is less likely to be right
                has no hits. Needs an engine that was calibrated.

        Examples:
            >>> engine.search("rye bread", k=3)
        """
        several = [queries] if isinstance(queries, str) else queries
        check_queries(several, k, beam)
        now, calibration = self._now()
        depth = k if calibration is None else max(k, DEPTH)
        found = now.search(several, depth, beam=beam, where=where)
        answers = sure_enough(found, k, calibration, min_confidence)
        return answers[0] if isinstance(queries, str) else answers

    def correct_query(self, query: str) -> str:
        """The query as it is searched for, which differs from what was typed if words of it are
        misspelt and the setting `search.correct` is on.

        A word is misspelt if it is in no dictionary (the documents' words, the encoder's
        vocabulary, an English word list, nor an inflection of a word in one of these) and one edit
        makes it a word of the documents. Contractions, words of fewer than four letters and tokens
        with digits, dots, underscores or inner capitals stay as they are.

        Examples:
            >>> engine.correct_query("how long does rye braed keep?")
        """
        return self.snapshot.correct_query(query)

    def document(self, document_id: str) -> Document:
        """The document with an id; `UnknownDocumentError` if there is none."""
        return self.snapshot.document(document_id)

    def add(
        self, documents: Documents, together: int = TOGETHER, *, prepare: bool = False
    ) -> Changed:
        """Add documents, or replace those of the same id, without training.

        When the call returns, all of them are on disk and the next search finds them.

        Args:
            documents: In any form that `tsgen.index` takes; texts without an id get a new one.
            together: Documents in one change. A change that fails leaves nothing behind; the
                changes before it stay.
            prepare: Whether this call, rather than the next search, does the work of merging the
                change with what there was. Searches of other threads do not wait for it.

        Examples:
            >>> engine.add(["a text", "another text"]).added  # 2
        """
        added = updated = 0
        from tsgen.corpus.in_memory import documents_of
        from tsgen.retrieve.collection import Changed

        source = documents_of(documents, self._new_ids())
        with self._preparing(prepare) as begun:
            try:
                while some := list(islice(source, together)):
                    changed = self._writer().add(some, begun)
                    added, updated = added + changed.added, updated + changed.updated
                    show("adding documents", added + updated)
            except TsgenError as error:
                raise _after(error, added, updated) from None
        return Changed(added, updated)

    def update(self, documents: Documents) -> Changed:
        """Replace documents by new versions of the same ids; an unknown id changes nothing.

        Args:
            documents: As for `add`. A data set is read twice, an iterator is held in memory.
        """
        from tsgen.corpus.in_memory import documents_of

        source = list(documents) if isinstance(documents, Iterator) else documents
        known = self.documents
        unknown = [one.id for one in documents_of(source) if known.number(one.id) is None]
        if unknown:
            raise UnknownDocumentError(
                f"{self.folder}: does not have {named(unknown)}; expected ids of its documents. "
                "Nothing was changed. `tsgen add` takes documents with new ids."
            )
        return self.add(source)

    def remove(self, ids: str | Iterable[str], *, prepare: bool = False) -> int:
        """Remove documents and say how many; an unknown id is an error that removes nothing.

        Args:
            ids: One id or several.
            prepare: As for `add`.

        Examples:
            >>> engine.remove(["doc1", "doc2"])  # 2
        """
        with self._preparing(prepare) as begun:
            return self._writer().remove([ids] if isinstance(ids, str) else list(ids), begun)

    def compact(self) -> None:
        """Write all changes into the engine's own arrays, and erase what was removed.

        Others may search and change the engine meanwhile.
        """
        compact(self.folder, self.snapshot)

    def erase(self, ids: str | Iterable[str] = ()) -> bool:
        """Remove documents and every trace of them and of those removed before: no file of the
        engine has their texts, their ids, or words that no other document has.

        The engine is compacted, and its model and term weights are written anew. Returns whether
        all is gone: not while another process reads the old texts; then call it again later.

        Examples:
            >>> engine.erase("doc1")  # True
        """
        self.remove(ids)
        return compact_without_traces(self.folder, self.snapshot)

    def hold(self) -> None:
        """Keep the engine's folder from being replaced until the engine is closed, as a server
        does: `tsgen index --out` of this folder is refused meanwhile."""
        self._open.hold()

    def keep_calibration(self, calibration: Calibration) -> None:
        """Keep the coefficients of the hits' confidence, in the folder and for the next search."""
        self._now()
        with self._reading:
            with self._open.changing():
                calibration.save(self.folder)
            self._latest = self._reader.read(), calibration

    def save(self, folder: Path | str) -> None:
        """Write the engine as it is now into an existing, empty folder."""
        folder, (now, calibration) = Path(folder), self._now()
        write_engine(folder, now.generator, now.config, now.documents)
        weights = self._weights()
        if weights is not None:
            shutil.copytree(weights, folder / KEPT)
        if calibration is not None:
            calibration.save(folder)
        seal(folder, KIND, now.config, {})

    def close(self) -> None:
        """Close the file of changes, and the engine with it."""
        self._reader.close()
        if self._changes is not None:
            self._changes.close()
        self._open.close()

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, document_id: str) -> Document:
        return self.document(document_id)

    def __contains__(self, document_id: object) -> bool:
        return isinstance(document_id, str) and self.documents.number(document_id) is not None

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def __repr__(self) -> str:
        now = self.snapshot
        size, terms = len(now.documents), len(now.sets.vocabulary)
        model = self.config.model.backbone
        return f"Engine({size:,} documents, {terms:,} terms, model {model}, in {self.folder})"

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
    def snapshot(self) -> Snapshot:
        """The engine as of the last change: its parts belong together, whatever changes later."""
        return self._now()[0]

    @property
    def sets(self) -> TermSets:
        """The term sets of all documents as of the last change."""
        return self.snapshot.sets

    @property
    def generator(self) -> Generator:
        """The model, the term sets and the constraint as of the last change."""
        return self.snapshot.generator

    @property
    def documents(self) -> NumberedDocuments:
        """All documents as of the last change, in the order of the term sets."""
        return self.snapshot.documents

    def _writer(self) -> DocumentWriter:
        """What changes the documents, made for the first change."""
        from tsgen.retrieve.collection import DocumentWriter

        with self._reading:
            if self._changes is None:
                parts = self._open, self.config.terms, self._weights, self._bases, self._vectors
                self._changes = DocumentWriter(*parts)
            return self._changes

    def _now(self) -> tuple[Snapshot, Calibration | None]:
        """The engine with every change that was finished before this call."""
        began, latest = self._reader.state(), self._latest
        if latest is not None and self._unfinished.cover(latest[0].state, began):
            return latest
        return self._merged()

    def _merged(self, prepare: bool = False) -> tuple[Snapshot, Calibration | None]:
        """The engine with every change that is on disk."""
        with self._reading:
            found = self._reader.read()
            if self._latest is None or found is not self._latest[0]:
                if prepare:
                    found.prepare()
                self._latest = found, Calibration.load(self.folder)
            return self._latest

    @contextmanager
    def _preparing(self, wanted: bool) -> Iterator[Begun]:
        """A block that makes changes, and tells of each when it begins. If `wanted`, they are not
        finished before they are merged, and searches go on with what there was until then."""
        own = list[int]()

        def begun(number: int) -> None:
            if wanted:
                own.append(number)
                self._unfinished.add(number)

        try:
            yield begun
            if own:
                with suppress(TsgenError):  # the change is on disk: the next search has the error
                    self._merged(prepare=True)
        finally:
            self._unfinished.remove(own)

    def _weights(self) -> Path | None:
        """The folder of the term weights for documents added now, if the engine has kept it."""
        return weights_folder(self.folder, self.snapshot.state.base)

    def _vectors(self, documents: Sequence[Document]) -> DocumentVectors | None:
        """The vectors of documents, if the generator keeps such."""
        from tsgen.model.document_vectors import read_documents

        reader = self._reader.encoders or self.generator.backbone
        return read_documents(documents, reader)

    def _new_ids(self) -> Iterator[str]:
        """Numbers that are no document's id, from the number of documents on."""
        return (str(number) for number in count(len(self)) if str(number) not in self)


def _after(error: TsgenError, added: int, updated: int) -> TsgenError:
    """The error, with what was done before it came."""
    if not added + updated or not isinstance(error, DataError | ArtifactError):
        return error
    kind = DataError if isinstance(error, DataError) else type(error)
    return kind(
        f"{error}\nBefore this, {added:,} documents were added and {updated:,} replaced, which are "
        "on disk; the rest was not."
    )


def open_settings(folder: Path) -> EngineConfig:
    """The settings of an engine's folder, after a check of its files."""
    open_artifact(folder, KIND, in_places={LINES})
    try:
        settings = orjson.loads((folder / SETTINGS).read_bytes())
    except (OSError, ValueError) as error:
        raise DamagedError(
            f"{folder / SETTINGS}: {error}; expected an engine that `tsgen fit` or `tsgen index` "
            "wrote. Check the path."
        ) from None
    return EngineConfig.from_mapping(settings, source=f"{folder / SETTINGS}")


def weights_folder(folder: Path, base: int) -> Path | None:
    """The folder of the term weights for documents added to an engine with this base, if it has
    kept them."""
    found = part(folder, base, KEPT)
    return found if found.is_dir() else None


def write_engine(
    folder: Path, generator: Generator, config: EngineConfig, documents: Iterable[Document]
) -> None:
    """Write all files of an engine but its learning curves."""
    generator.backbone.save(folder / MODEL)
    write_base(folder, generator.sets, documents)
    if generator.sets.doc_vectors is not None:
        write_first_stage(folder / TERMS, generator.sets, TermTable.open(folder / MODEL))
    values = config.model_dump(mode="json")
    (folder / SETTINGS).write_bytes(orjson.dumps(values, option=orjson.OPT_INDENT_2))
    write_mark(folder, 0)
