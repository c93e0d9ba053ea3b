"""What the endpoints share: the engine, and the threads that work on it."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, Self, TypeVar

import torch

from tsgen.records import Hit
from tsgen.retrieve.engine import Engine
from tsgen.serve.guard import Meters
from tsgen.serve.limits import Limits, Shares, busy
from tsgen.terms.words import Splitter

# Threads for work that would block the event loop, with a bounded number of jobs before them.

T = TypeVar("T")


class Worker:
    """Threads that do their jobs in the order they came, by default one after the other. A job
    whose client has gone is dropped if it still waits."""

    def __init__(
        self, name: str, most: int, start: Callable[[], None] | None = None, threads: int = 1
    ) -> None:
        self._name, self._most, self._jobs = name, most, 0
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name, initializer=start)

    async def run(self, function: Callable[[], T]) -> T:
        """Queue a job and return its result; an `HttpError` if too many jobs wait."""
        if self._jobs >= self._most:
            raise busy(self._name, self._most)
        self._jobs += 1
        try:
            return await asyncio.wrap_future(self._threads.submit(function))
        finally:
            self._jobs -= 1

    async def finish(self, change: Callable[[], T]) -> T:
        """Queue a change and return its result. If its client's time is up before it has begun, it
        is never made; once it has begun, its end is waited for, however long that takes."""
        if self._jobs >= self._most:
            raise busy(self._name, self._most)
        self._jobs += 1
        try:
            job = self._threads.submit(change)
            result = asyncio.wrap_future(job)
            try:
                await asyncio.wait([result])
            except asyncio.CancelledError:
                if job.cancel():
                    raise
                await asyncio.wait([result])
            return result.result()
        finally:
            self._jobs -= 1

    def close(self) -> None:
        """Finish the jobs that were begun."""
        self._threads.shutdown(wait=True)


# The one thread that runs the model. Searches that wait at the same time are answered together.


@dataclass(frozen=True, slots=True)
class Ask:
    """The options of a search; queries with equal options can be answered in one call."""

    k: int
    beam: int | None = None
    where: str | None = None
    min_confidence: float | None = None


Search = Callable[[Sequence[str], Ask], list[list[Hit]]]
"""The hits of each of some queries that were asked with the same options."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A query with its options, or any other work for the model; and the answer to come."""

    ask: Ask | None
    work: Any
    answer: "Future[Any]"


class ModelThread:
    """The one thread that runs the model. It takes the oldest job that waits and, if that is a
    query, others that can be answered with it.

    Nothing is held back to fill a batch: what came while the model was busy is the next one.
    """

    def __init__(self, search: Search, batch: int, most: int) -> None:
        self._search, self._batch, self._most = search, batch, most
        self._queue: deque[_Waiting] = deque()
        self._change = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="model", daemon=True)
        self._thread.start()

    def search(self, queries: Sequence[str], ask: Ask) -> "list[Future[list[Hit]]]":
        """Queue queries, all or none; returns the hits of each, to come."""
        return self._put([_Waiting(ask, query, Future()) for query in queries])

    def call(self, function: Callable[[], T]) -> "Future[T]":
        """Queue any other work that needs the model; returns its result, to come."""
        answer: Future[T] = Future()
        self._put([_Waiting(None, function, answer)])
        return answer

    def waiting(self) -> int:
        """How many jobs wait now."""
        return len(self._queue)

    def alive(self) -> bool:
        """Whether the jobs that come will be done."""
        return self._thread.is_alive() and not self._closed

    def close(self) -> None:
        """Do the jobs that wait, then end the thread."""
        with self._change:
            self._closed = True
            self._change.notify()
        self._thread.join()

    def _put(self, items: list[_Waiting]) -> list[Any]:
        with self._change:
            if self._closed or len(self._queue) + len(items) > self._most:
                raise busy("queries", self._most)
            self._queue.extend(items)
            self._change.notify()
        return [item.answer for item in items]

    def _work(self) -> None:
        while batch := self._take():
            wanted = [item for item in batch if item.answer.set_running_or_notify_cancel()]
            if wanted:
                self._answer(wanted)

    def _take(self) -> list[_Waiting]:
        """The oldest job and those like it, in the order they came; no job once it is closed."""
        with self._change:
            self._change.wait_for(lambda: self._queue or self._closed)
            if not self._queue:
                return []
            ask, taken = self._queue[0].ask, list[_Waiting]()
            room = self._batch if ask is not None else 1
            rest = deque[_Waiting]()
            for item in self._queue:
                fits = len(taken) < room and item.ask == ask
                (taken if fits else rest).append(item)
            self._queue = rest
            return taken

    def _answer(self, batch: list[_Waiting]) -> None:
        """Answer a batch. If it fails, each of its queries is tried alone: only the one to blame
        fails."""
        try:
            answers = self._run(batch)
        except BaseException as error:
            if len(batch) == 1:
                batch[0].answer.set_exception(error)
            else:
                for item in batch:
                    self._answer([item])
            return
        for item, answer in zip(batch, answers, strict=True):
            item.answer.set_result(answer)

    def _run(self, batch: list[_Waiting]) -> list[Any]:
        ask = batch[0].ask
        return [batch[0].work()] if ask is None else self._search([i.work for i in batch], ask)


CHANGES = 8
"""Changes that are made at a time. They are written one after the other; while one is merged with
what there was, others are written, and the next merge has all of them."""


@dataclass(frozen=True, slots=True)
class Serving:
    """An engine with the threads that search it, read from it and change it."""

    engine: Engine
    splitter: Splitter
    limits: Limits
    meters: Meters
    model: ModelThread
    reader: Worker  # documents and snippets; the splitter's stemmer is for one thread
    writer: Worker  # changes, which may wait for another process that writes
    queries: Shares  # the places of the model's queue by client
    changes: Shares  # and those of the writer's

    @classmethod
    def start(cls, engine: Engine, splitter: Splitter, limits: Limits) -> Self:
        """Start the threads that work on an engine."""
        meters = Meters.new(lambda: len(engine), lambda: model.waiting())

        def search(queries: Sequence[str], ask: Ask) -> list[list[Hit]]:
            began = perf_counter()
            hits = engine.search(
                queries,
                ask.k,
                beam=ask.beam,
                where=ask.where,
                min_confidence=ask.min_confidence,
            )
            meters.batches.observe(len(queries))
            meters.search_seconds.observe(perf_counter() - began)
            return hits

        model = ModelThread(search, limits.batch, limits.waiting)
        model.call(partial(_use_cores, torch.get_num_threads()))
        reader = Worker("readings", limits.connections)
        return cls(
            engine,
            splitter,
            limits,
            meters,
            model,
            reader,
            Worker("changes", limits.waiting, partial(_use_cores, 1), CHANGES),
            Shares(limits.waiting),
            Shares(limits.waiting),
        )

    def close(self) -> None:
        """Finish the jobs that were begun."""
        for thread in (self.model, self.writer, self.reader):
            thread.close()


def _use_cores(number: int) -> None:
    """Let this thread compute on so many cores. Two large teams of OpenMP threads would wait for
    each other, so changes take one core. A thread that has not yet asked for its number takes the
    last number that any thread set."""
    torch.get_num_threads()
    torch.set_num_threads(number)
