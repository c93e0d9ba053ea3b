"""An engine at one moment: its generator and its documents as of the last change, and their search.

A `Reader` merges the engine's base with what was added and removed since into one `Snapshot`. A
compaction writes a snapshot as the engine's new base.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from tsgen.artifact import KEPT, MANIFEST, forget, read_manifest, stage, sync
from tsgen.config import StageConfig
from tsgen.constrain.constraint import Int32, Ragged
from tsgen.corpus.input_limits import check_queries, check_text
from tsgen.decode.first_stage import FirstStage
from tsgen.decode.hypotheses import Found, as_hits
from tsgen.docids.term_set import AddedTermSet, Merged, Merger, TermSets
from tsgen.errors import (
    ArtifactError,
    DamagedError,
    DataError,
    ReplacedError,
    TsgenError,
    UnknownDocumentError,
)
from tsgen.integrity import CHECK
from tsgen.model.term_table import TermTable
from tsgen.owner import OpenFolder
from tsgen.records import NO_METADATA, Document, Hit
from tsgen.retrieve.filters import parse
from tsgen.retrieve.storage import (
    BASE,
    BASE_KIND,
    FILTERS,
    TERMS,
    Base,
    Bases,
    base_folder,
    write_base,
)
from tsgen.retrieve.store import Added, State, Store
from tsgen.retrieve.vector_search import Encoders, Origin, VectorSearch, write_first_stage
from tsgen.settings import DecodeConfig, EngineConfig
from tsgen.terms.words import Counting, Lexicon, Splitter, words_of

if TYPE_CHECKING:  # imported with torch, which a search by vectors does without
    from tsgen.model.generator import Generator, Grower

MODEL = "model"
"""The folder, in an engine's folder, with the files of its backbone."""

OWN = "own"
"""The folder, in that of a base, with what takes the place of other parts of the engine."""


def part(engine: Path, number: int, name: str) -> Path:
    """The model or the term weights of an engine as of the base with a number: those that were
    written with the base, if any were, else those that the engine was made with."""
    own = base_folder(engine, number) / OWN / name
    return own if own.exists() else engine / name


# The documents at one moment: those of the base that are still there, then those that were added
# since, by number.


class NumberedDocuments:
    """The documents by number, in the order of the term sets; a text is read when it is asked
    for."""

    def __init__(
        self,
        base: Base,
        kept: NDArray[np.integer] | None = None,
        added: Sequence[Added] = (),
        store: Store | None = None,
    ) -> None:
        """`kept` are the numbers in the base of its documents that are still there, ascending;
        `added` documents have their texts in the store."""
        self.base, self.added = base, added
        self.kept = np.arange(len(base.documents)) if kept is None else kept
        self._store = store
        self._matches: dict[str, NDArray[np.int32]] = {}

    def __len__(self) -> int:
        return len(self.kept) + len(self.added)

    def __getitem__(self, number: int) -> Document:
        if number < len(self.kept):
            return self.base.documents[int(self.kept[number])]
        one = self.added[number - len(self.kept)]
        found = self._store.document(one.sequence) if self._store else None
        if found is None:
            raise DataError(
                f"{one.id!r}: the collection was compacted since it was opened, and this document "
                "is elsewhere or gone. Open the engine again."
            )
        return found

    def __iter__(self) -> Iterator[Document]:
        return (self[number] for number in range(len(self)))

    def number(self, document_id: str) -> int | None:
        """The number of a document, or None if it is not there."""
        if document_id in self._added_numbers:
            return self._added_numbers[document_id]
        number = self.base.numbers.get(document_id)
        if number is None:
            return None
        place = int(np.searchsorted(self.kept, number))
        return place if place < len(self.kept) and self.kept[place] == number else None

    def matching(self, where: str) -> NDArray[np.int32]:
        """The numbers of the documents whose metadata passes a filter, ascending."""
        found = self._matches.get(where)
        if found is None:
            passes = parse(where)
            own = np.array([passes(_metadata(one)) for one in self.added], np.bool_)
            both = np.concatenate([self.base.matching(where)[self.kept], own])
            found = np.flatnonzero(both).astype(np.int32)
            if len(self._matches) < FILTERS:
                self._matches[where] = found
        return found

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of all documents; of those that were added since, their terms."""
        added = (term for one in self.added for term in one.terms)
        return self.base.lexicon.with_words(added, self._words_gone(DamagedError))

    def counted_lexicon(self) -> Lexicon:
        """The words of all documents, those of added ones, too, as a new base keeps them."""
        places = range(len(self.kept), len(self))
        added = (word for place in places for word in words_of(self[place]))
        try:
            return self.base.lexicon.with_words(added, self._words_gone())
        except DamagedError:  # a document that went because it was damaged: nobody knows its words
            counting = Counting()
            deque(counting.passing(self), maxlen=0)
            return Lexicon(counting.frequencies)

    def _words_gone(self, *skipped: type[Exception]) -> Iterator[str]:
        """The words of the base's documents that are gone; those are skipped of which reading fails
        with one of these errors."""
        there = np.zeros(len(self.base.documents), np.bool_)
        there[self.kept] = True
        for number in np.flatnonzero(~there).tolist():
            with suppress(*skipped):
                yield from words_of(self.base.documents[number])

    @cached_property
    def _added_numbers(self) -> dict[str, int]:
        return {one.id: i for i, one in enumerate(self.added, len(self.kept))}


def _metadata(one: Added) -> dict[str, object]:
    return dict(NO_METADATA) if one.metadata is None else orjson.loads(one.metadata)


UNCHANGED = State(0, 0)
ATTEMPTS = 5  # at opening a base, which a compaction may be replacing


# Searching among some of the documents: Y starts from these, so nothing else can be found.

WIDER = 4  # times as many beams where too few documents were found
WIDEST = 1024


def search_among(
    generator: Generator, queries: Sequence[str], k: int, decode: DecodeConfig, documents: Int32
) -> list[list[Found]]:
    """Find at most `k` of these documents (ascending numbers) for each query, best first. A beam
    that finds fewer although there are more is widened, until there are k or all."""
    from tsgen.decode.search import search

    if not len(documents):
        return [[] for _ in queries]
    pool, wanted = pool_of(documents), min(k, len(documents))
    backbone, constraint = generator.backbone, generator.constraint
    found = search(backbone, constraint, queries, k, decode, pool)
    short = [i for i, hits in enumerate(found) if len(hits) < wanted]
    while short and (wider := widened(decode)) is not None:
        decode = wider
        again = search(backbone, constraint, [queries[i] for i in short], k, decode, pool)
        for i, hits in zip(short, again, strict=True):
            found[i] = hits
        short = [i for i in short if len(found[i]) < wanted]
    return found


def pool_of(documents: Int32) -> Ragged:
    """The same documents as the pool of every query."""
    return Ragged(np.array([0, len(documents)]), documents)


def widened(decode: DecodeConfig) -> DecodeConfig | None:
    """Settings with the next wider beam; None if this one is the widest."""
    if decode.beam >= WIDEST:
        return None
    return decode.with_beam(min(WIDER * decode.beam, WIDEST))


class Models:
    """The model of an engine's folder, which is loaded when it is first asked for, and which is
    given the terms of every moment that asks for it."""

    def __init__(self, folder: Path, config: EngineConfig) -> None:
        self._folder, self._config = folder, config
        self._turn = Lock()
        self._grower: Grower | None = None
        self._latest: tuple[int, Merged, Generator] | None = None  # the base that it belongs to

    def generator(self, number: int, base: Base, unchanged: Merged, now: Merged) -> Generator:
        """The generator of term sets that were merged from a base.

        Args:
            number: Of the base.
            base: The base itself.
            unchanged: The base's own sets, as the merger of `now` has them.
            now: The sets that the generator is to write.
        """
        with self._turn:
            if self._latest is None or self._latest[0] != number:
                self._latest = number, unchanged, self._on_base(number, base)
            _, before, generator = self._latest
            if now is not before:
                assert self._grower is not None
                generator = self._grower.grow(generator, now.sets, now.kept(before))
                self._latest = number, now, generator
            return generator

    def _on_base(self, number: int, base: Base) -> Generator:
        """The generator for a base: with the model that is loaded already, or that of the folder,
        and with the terms that a compaction wrote."""
        from tsgen.model.generator import Generator, Grower, kept_terms

        if self._latest is not None and self._grower is not None:
            before = self._latest[2]
            kept = kept_terms(before.sets, base.sets)
            generator = self._grower.grow(before, base.sets, kept)
        else:
            # The first base's terms are saved in the folder; those of another take their place.
            load = Generator.load_with_terms if number else Generator.load
            generator = load(part(self._folder, number, MODEL), base.sets, self._config.model)
            self._grower = Grower(generator.backbone)
            generator.backbone.encode(["a"])  # so that no two threads set its tokenizer up
        if not number:
            return generator
        return generator.with_backbone(generator.backbone.with_saved_terms(base.folder / MODEL))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An engine at one moment: its parts belong together, whatever changes meanwhile.

    `load` gives the generator, which is loaded when it is first asked for; `by_vectors` is what
    searches without it, where that can be; `last` is the number of the last document that was
    added.
    """

    sets: TermSets
    load: Callable[[], Generator]
    config: EngineConfig
    documents: NumberedDocuments
    state: State = UNCHANGED
    last: int = 0
    by_vectors: VectorSearch | None = None

    @classmethod
    def of(cls, generator: Generator, config: EngineConfig, documents: NumberedDocuments) -> Self:
        """A generator that is loaded already, with its documents."""
        return cls(generator.sets, lambda: generator, config, documents)

    @property
    def generator(self) -> Generator:
        """The model, the term sets and the constraint; the model is loaded at the first use."""
        return self.load()

    def search(
        self,
        queries: Sequence[str],
        k: int = 10,
        *,
        beam: int | None = None,
        where: str | None = None,
    ) -> list[list[Hit]]:
        """Find at most `k` documents for each query, best first, each with its reason."""
        check_queries(queries, k, beam)
        if where is not None:
            check_text(where, "filter")
        decode = self.config.decode.with_beam(beam)
        read = [self.correct_query(query) for query in queries]
        among = None if where is None else self.documents.matching(where)
        if self.by_vectors is not None and decode.by_first_stage:
            found = self.by_vectors(read, k, decode, among)
        elif among is not None:
            found = search_among(self.generator, read, k, decode, among)
        else:
            from tsgen.decode.search import search

            found = search(self.generator.backbone, self.generator.constraint, read, k, decode)
        return [as_hits(one, self.sets.documents, self.sets.vocabulary) for one in found]

    def prepare(self) -> None:
        """Make what the first search would have to make."""
        if self.by_vectors is not None and self.config.decode.by_first_stage:
            self.by_vectors.prepare()
        else:
            self.search(["a"], 1, beam=1)

    def correct_query(self, query: str) -> str:
        """The query as the model is given it: with `search.correct`, its misspelt words are
        replaced by words of the documents. What the model's tokenizer has as a whole word is not
        misspelt, nor is what `Lexicon.correct` leaves as it is."""
        if not self.config.search.correct:
            return query
        return self.documents.lexicon.correct(query, self._whole_words())

    def _whole_words(self) -> frozenset[str]:
        """The words that the model's tokenizer has as single pieces."""
        if self.by_vectors is not None:
            return self.by_vectors.whole_words
        from tsgen.model.vocabulary import whole_words

        return whole_words(self.generator.backbone.tokenizer)

    def document(self, document_id: str) -> Document:
        """The document with an id; `UnknownDocumentError` if there is none."""
        return self.documents[self.number(document_id)]

    def number(self, document_id: str) -> int:
        """The number of a document in the term sets; `UnknownDocumentError` if there is none."""
        number = self.documents.number(document_id)
        if number is None:
            raise UnknownDocumentError(
                f"{document_id!r}: no such document; expected an id of this engine's. `tsgen "
                "search` prints the ids of what it finds."
            )
        return number


class Reader:
    """Follows the changes of one engine's folder, whichever process makes them. `read` is for one
    thread at a time."""

    def __init__(
        self, folder: OpenFolder, config: EngineConfig, bases: Bases | None = None
    ) -> None:
        self._open, self._folder, self._config = folder, folder.folder, config
        self._bases = bases or Bases(self._folder)
        self._store, self._opening = Store.open(self._folder), Lock()
        self._models = Models(self._folder, config)
        base = 0 if self._store is None else self._store.state().base
        self.encoders = Encoders.open(part(self._folder, base, MODEL), config.model)
        self._changing: _Changing | None = None
        self._snapshot: Snapshot | None = None

    def close(self) -> None:
        """Close the file of changes."""
        if self._store is not None:
            self._store.close()

    def state(self) -> State:
        """The number of the last change, by whatever process. For any thread."""
        with self._opening:
            return self._state()

    def read(self) -> Snapshot:
        """The engine as it is now; the last snapshot if nothing changed since."""
        for _ in range(ATTEMPTS):
            state = self.state()
            if self._snapshot is not None and self._snapshot.state == state:
                return self._snapshot
            try:
                changing = self._on_base(state.base)
            except ArtifactError:
                if self.state().base == state.base:
                    raise
                continue
            found = changing.read(self._store)
            if found.state.base == state.base:
                self._snapshot = found
                return found
        raise ArtifactError(f"{self._folder}: compacted again and again while it is opened.")

    def _state(self) -> State:
        self._open.require()
        if self._store is not None and self._store.is_stale():
            self._store = None  # others may still be reading it
        self._store = self._store or Store.open(self._folder)
        if self._store is None:
            return UNCHANGED
        if not self._store.is_current():
            raise ReplacedError(
                f"{self._store.path}: was replaced or removed since it was opened; expected the "
                "same file. Nothing was read. Open the engine again."
            )
        return self._store.state()

    def _on_base(self, number: int) -> _Changing:
        if self._changing is None or self._changing.number != number:
            parts = number, self._bases(number), self._config, self._models, self.encoders
            self._changing = _Changing(*parts)
        return self._changing


class _Changing:
    """One base, and the changes since that were read so far."""

    def __init__(
        self,
        number: int,
        base: Base,
        config: EngineConfig,
        models: Models,
        encoders: Encoders | None,
    ) -> None:
        self.number, self._base, self._config = number, base, config
        self._models, self._encoders = models, encoders
        self._merger = Merger(base.sets)
        self._unchanged = self._merged = self._merger.base()
        self._rows: dict[int, tuple[Added, AddedTermSet]] = {}  # by sequence, ascending
        self._table = self._stage = None
        if encoders is not None:
            self._table = TermTable.open(base.folder / MODEL)
            self._stage = FirstStage.load(base.folder / TERMS, len(base.sets))

    def read(self, store: Store | None) -> Snapshot:
        """Merge the changes that came since the last call."""
        if store is None:
            return self._snapshot(NumberedDocuments(self._base))
        with store.reading():
            state, sequences, removed = store.state(), store.sequences(), store.removed()
            new, last = store.added(max(self._rows, default=0)), store.last()
        if state.base != self.number:
            return self._snapshot(NumberedDocuments(self._base), state)
        for one in new:
            self._rows[one.sequence] = one, self._row(one)
        if missing := set(sequences.tolist()) - self._rows.keys():
            raise DamagedError(f"{store.path}: {len(missing)} documents are missing. {CHECK}")
        self._rows = {number: self._rows[number] for number in sequences.tolist()}
        there = np.ones(len(self._base.documents), np.bool_)
        there[removed] = False
        kept = np.flatnonzero(there)
        self._merge(kept)
        added = [one for one, _ in self._rows.values()]
        documents = NumberedDocuments(self._base, kept, added, store)
        return self._snapshot(documents, state, last)

    def _snapshot(
        self, documents: NumberedDocuments, state: State = UNCHANGED, last: int = 0
    ) -> Snapshot:
        now, unchanged = self._merged, self._unchanged
        load = cache(partial(self._models.generator, self.number, self._base, unchanged, now))
        by_vectors = None
        if self._encoders is not None and self._table is not None and self._stage is not None:
            table, origin = self._table, None
            if now is not unchanged:
                origin = Origin(documents.kept, now.kept(unchanged))
                table = table.with_terms(origin.terms)
            by_vectors = VectorSearch(self._encoders, table, now.sets, self._stage, origin)
        return Snapshot(now.sets, load, self._config, documents, state, last, by_vectors)

    def _row(self, one: Added) -> AddedTermSet:
        known, own = self._base.sets.doc_vectors, one.vectors
        vectors = None if known is None or own is None else known.unpack(own)
        return AddedTermSet(one.id, self._merger.numbers(one.terms), one.weights, vectors)

    def _merge(self, kept: NDArray[np.int64]) -> None:
        self._merged = self._merger.merge(kept, [row for _, row in self._rows.values()])


# Compaction: a new base with all changes in it.
#
# The new base is written beside the old one, whole and on disk, while searches and changes go on.
# One transaction then names it in the store and forgets the changes that it holds; what changed
# while it was written stays. A kill before that transaction leaves the old base, after it the new
# one, and what is left over then goes with the next compaction.
#
# What the folder of the new base has takes the place of what the engine's own folder has under the
# same name, and where model and term weights are to forget words, too, so has what the folder `OWN`
# of the base has.

EMPTYING = 10.0  # seconds that emptying the store's log waits for those who read it


def compact(folder: Path, now: Snapshot) -> None:
    """Write a snapshot, which was just read, as the new base of the engine in `folder`."""
    store = Store.open(folder)
    if store is None:
        return
    try:
        if now.documents.added or len(now.documents.kept) < len(now.documents.base.documents):
            _compact(folder, now, store, _linked(folder, now.state.base))
        else:
            with store.writing():
                store.erase()
            _remove_old(folder, now.state.base)
            store.shrink()
    finally:
        store.close()


def compact_without_traces(folder: Path, now: Snapshot) -> bool:
    """Write a snapshot as the new base, with a model and term weights that know no word but those
    of its documents: nothing of documents that were removed is left in the engine's folder.

    Returns whether that is so: not if another process still reads the old texts in the store.
    """
    store = Store.open(folder)
    if store is None:
        return True
    try:
        splitter = Splitter(now.config.terms.words)
        keys = {key for document in now.documents for key in splitter.keys(document.contents)}
        _compact(folder, now, store, _with_words(folder, now, keys))
        with store.writing():
            store.erase()
        return _emptied(store)
    finally:
        store.close()


MoreParts = Callable[[Path], None]
"""Writes into the folder of a new base what it has beside documents and terms."""


def _linked(folder: Path, number: int) -> MoreParts:
    """The model and the weights of the base with a number, if it has its own."""

    def write(partial: Path) -> None:
        own = base_folder(folder, number) / OWN
        if number and own.is_dir():
            shutil.copytree(own, partial / OWN, copy_function=_link)

    return write


def _link(source: str, target: str) -> None:
    """Give a file that never changes a second name, or copy it where that cannot be."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _with_words(folder: Path, now: Snapshot, keys: Container[str]) -> MoreParts:
    """The snapshot's model, and the weights of its terms with words of these keys alone."""

    def write(partial: Path) -> None:
        from tsgen.terms.weights import keep_words

        now.generator.backbone.save(partial / OWN / MODEL)
        weights = part(folder, now.state.base, KEPT)
        if weights.is_dir():
            shutil.copytree(weights, partial / OWN / KEPT)
            keep_words(partial / OWN / KEPT, keys)

    return write


def _compact(folder: Path, now: Snapshot, store: Store, more: MoreParts) -> None:
    number = now.state.change  # as no other state of the collection has
    try:
        _write(base_folder(folder, number), now, more)
    except (TsgenError, OSError):
        if store.state().base == now.state.base:
            raise
        return  # another process was faster, and took away what was read or written here
    with store.writing():
        if store.state().base != now.state.base:
            return
        gone = _gone_since(store, now)
        store.rebase(number, now.last, gone, store.changed())
    _remove_old(folder, number)
    store.shrink()


def _write(new: Path, now: Snapshot, more: MoreParts) -> None:
    def work(partial: Path) -> None:
        documents = now.documents
        write_base(partial, now.sets, documents, documents.counted_lexicon())
        if now.sets.doc_vectors is not None:
            now.generator.learned().backbone.save_terms(partial / MODEL)
            write_first_stage(partial / TERMS, now.sets, TermTable.open(partial / MODEL))
        more(partial)

    inputs = {"base": str(now.state.base), "change": str(now.state.change)}
    stage(new, work, kind=BASE_KIND, config=StageConfig(), inputs=inputs)
    sync(new)


def _gone_since(store: Store, now: Snapshot) -> list[int]:
    """The numbers of the snapshot's documents that were removed while the base was written."""
    numbers, ids = store.later(now.state.change, now.last)
    places = np.searchsorted(now.documents.kept, numbers).tolist()
    found = (now.documents.number(document_id) for document_id in ids)
    return sorted({*places, *(number for number in found if number is not None)})


def _remove_old(folder: Path, number: int) -> None:
    """Remove what was written for earlier changes; open readers have its files mapped."""
    if not number:
        return
    for path in folder.iterdir():
        written = re.match(rf"\.?{BASE}(\d+)", path.name)
        if written is not None and int(written.group(1)) < number:
            shutil.rmtree(path, ignore_errors=True)
    new = base_folder(folder, number)
    taken = {path.name for path in new.iterdir()} - {MODEL, OWN, MANIFEST}
    taken |= {path.name for path in (new / OWN).iterdir()} if (new / OWN).is_dir() else set()
    gone = [name for name in read_manifest(folder).files if name.split("/")[0] in taken]
    if gone:
        forget(folder, gone)
    for name in taken:
        shutil.rmtree(folder / name, ignore_errors=True)


def _emptied(store: Store) -> bool:
    """Overwrite and give back what was deleted from the store, once nobody reads it."""
    end = time.monotonic() + EMPTYING
    while not store.shrink():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
