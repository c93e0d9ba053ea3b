"""What the endpoints share: the collection, and the threads that work on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Protocol, Self

import torch

from tsgen.records import Document, Hit
from tsgen.serve.lane import Lane
from tsgen.serve.limits import Limits
from tsgen.serve.meters import Meters
from tsgen.serve.model_thread import Ask, ModelThread
from tsgen.terms.words import Splitter


class Changed(Protocol):
    """How many documents a `put` added and replaced."""

    @property
    def added(self) -> int:
        """New ones."""
        ...


class Living(Protocol):
    """What is needed of a `Collection`."""

    def search(
        self,
        queries: Sequence[str],
        k: int = 10,
        beam: int | None = None,
        where: str | None = None,
        min_confidence: float | None = None,
    ) -> list[list[Hit]]:
        """At most `k` hits for each query, none where it is not as sure."""
        ...

    def read(self, query: str) -> str:
        """The query as the model is given it."""
        ...

    def document(self, document_id: str) -> Document:
        """One document, or a `DataError`."""
        ...

    def put(self, documents: Sequence[Document]) -> Changed:
        """Add or replace; durable on return."""
        ...

    def remove(self, ids: Sequence[str]) -> int:
        """Remove; a `DataError` names unknown ids."""
        ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Serving:
    """A collection at work."""

    collection: Living
    splitter: Splitter
    limits: Limits
    meters: Meters
    model: ModelThread
    reader: Lane  # documents and snippets; the splitter's stemmer is for one thread
    writer: Lane  # changes, which may wait for another process that writes

    @classmethod
    def start(cls, collection: Living, splitter: Splitter, limits: Limits) -> Self:
        """Start the threads."""
        meters = Meters.new(lambda: len(collection), lambda: model.waiting())

        def search(queries: Sequence[str], ask: Ask) -> list[list[Hit]]:
            began = perf_counter()
            hits = collection.search(queries, ask.k, ask.beam, ask.where, ask.min_confidence)
            meters.batches.observe(len(queries))
            meters.search_seconds.observe(perf_counter() - began)
            return hits

        model = ModelThread(search, limits.batch, limits.waiting)
        model.call(partial(_use_cores, torch.get_num_threads()))
        reader = Lane("readings", limits.connections)
        return cls(
            collection,
            splitter,
            limits,
            meters,
            model,
            reader,
            Lane("changes", limits.waiting, partial(_use_cores, 1)),
        )

    def close(self) -> None:
        """Finish what was begun."""
        for thread in (self.model, self.writer, self.reader):
            thread.close()


def _use_cores(number: int) -> None:
    """In this thread. Two large teams of OpenMP threads would wait for each other, so changes take
    one core. A thread that has not yet asked for its number takes the last that any thread set."""
    torch.get_num_threads()
    torch.set_num_threads(number)
