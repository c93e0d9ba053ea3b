"""Reading a collection: the generator and the documents as of the last change."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tsgen.docids.merged import Merger, Row
from tsgen.errors import ArtifactError
from tsgen.retrieve.base import Base, Bases
from tsgen.retrieve.store import Added, State, Store
from tsgen.retrieve.view import View
from tsgen.train.generator import Generator
from tsgen.train.growing import Grower, kept_terms, load_with_terms
from tsgen.train.iterate import MODEL

UNCHANGED = State(0, 0)
ATTEMPTS = 5  # at opening a base, which a compaction may be replacing


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A collection at one moment."""

    state: State
    generator: Generator
    documents: View
    last: int = 0  # the last sequence number so far


class Reader:
    """Follows the changes of one engine's folder, whoever makes them. For one thread at a time."""

    def __init__(self, folder: Path, query_tokens: int, bases: Bases | None = None) -> None:
        self._folder, self._query_tokens = folder, query_tokens
        self._bases = bases or Bases(folder)
        self._store = Store.open(folder)
        self._grower: Grower | None = None
        self._changing: _Changing | None = None
        self._snapshot: Snapshot | None = None

    def close(self) -> None:
        """Give the store back."""
        if self._store is not None:
            self._store.close()

    def read(self) -> Snapshot:
        """The collection as it is now; the last snapshot if nothing changed since."""
        for _ in range(ATTEMPTS):
            state = self._state()
            if self._snapshot is not None and self._snapshot.state == state:
                return self._snapshot
            try:
                changing = self._on_base(state.base)
            except ArtifactError:
                if self._state().base == state.base:
                    raise
                continue
            found = changing.read(self._store)
            if found.state.base == state.base:
                self._snapshot = found
                return found
        raise ArtifactError(f"{self._folder}: compacted again and again while it is opened.")

    def _state(self) -> State:
        self._store = self._store or Store.open(self._folder)
        return UNCHANGED if self._store is None else self._store.state()

    def _on_base(self, number: int) -> "_Changing":
        if self._changing is None or self._changing.number != number:
            base = self._bases(number)
            self._changing = _Changing(number, base, *self._generator(number, base))
        return self._changing

    def _generator(self, number: int, base: Base) -> tuple[Generator, Grower]:
        """For a base: the model that is already there, or that of the folder."""
        if self._grower is not None and self._changing is not None:
            before = self._changing.generator
            kept = kept_terms(before.sets, base.sets)
            return self._grower.grow(before, base.sets, kept), self._grower
        load = load_with_terms if number else Generator.load  # the first base's terms are in it
        generator = load(self._folder / MODEL, base.sets, self._query_tokens)
        self._grower = Grower(generator.backbone)
        return generator, self._grower


class _Changing:
    """One base and what has changed since, as far as it was read."""

    def __init__(self, number: int, base: Base, generator: Generator, grower: Grower) -> None:
        self.number, self.generator = number, generator
        self._base, self._grower = base, grower
        self._merger = Merger(base.sets)
        self._merged = self._merger.base()
        self._rows: dict[int, tuple[Added, Row]] = {}  # by sequence, ascending

    def read(self, store: Store | None) -> Snapshot:
        """Take in what changed since the last time."""
        if store is None:
            return Snapshot(UNCHANGED, self.generator, View(self._base))
        with store.reading():
            state, sequences, removed = store.state(), store.sequences(), store.removed()
            new, last = store.added(max(self._rows, default=0)), store.last()
        if state.base != self.number:
            return Snapshot(state, self.generator, View(self._base))
        for one in new:
            self._rows[one.sequence] = one, self._row(one)
        self._rows = {number: self._rows[number] for number in sequences.tolist()}
        there = np.ones(len(self._base.documents), np.bool_)
        there[removed] = False
        kept = np.flatnonzero(there)
        self._merge(kept)
        added = [one for one, _ in self._rows.values()]
        return Snapshot(state, self.generator, View(self._base, kept, added, store), last)

    def _row(self, one: Added) -> Row:
        return Row(one.id, self._merger.numbers(one.terms), one.weights)

    def _merge(self, kept: NDArray[np.int64]) -> None:
        merged = self._merger.merge(kept, [row for _, row in self._rows.values()])
        terms = merged.kept(self._merged)
        self.generator = self._grower.grow(self.generator, merged.sets, terms)
        self._merged = merged
