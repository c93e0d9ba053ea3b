"""Systems in processes of their own that answer in turn: all meet the same load of the machine, and
the memory that one takes is its own."""

import os
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")


class Asked:
    """A system in a process of its own, which computes on one thread."""

    def __init__(self, made: Any) -> None:
        """Start the process and wait until the system is loaded; `made.open` loads it."""
        before = {name: os.environ.get(name) for name in ONE_THREAD}
        os.environ.update(ONE_THREAD)
        try:
            self._pipe, other = get_context("spawn").Pipe()
            self._process = get_context("spawn").Process(target=_serve, args=(other, made.open))
            self._process.start()
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
        other.close()
        self.loading: float = self._answer()

    def ask(self, query: str, k: int) -> float:
        """Seconds for one query."""
        self._pipe.send(([query], k))
        seconds, _, _ = self._answer()
        return float(seconds)

    def bulk(self, queries: Sequence[str], k: int) -> tuple[float, float, list[list[str]]]:
        """Seconds and seconds of processor time for many queries at once; the documents found."""
        self._pipe.send((list(queries), k))
        found: tuple[float, float, list[list[str]]] = self._answer()
        return found

    def end(self) -> float:
        """End the process; returns the most memory that it held, in MB."""
        self._pipe.send(None)
        megabytes: float = self._answer()
        self._process.join()
        return megabytes

    def _answer(self) -> Any:
        answer = self._pipe.recv()
        if isinstance(answer, BaseException):
            raise answer
        return answer


def _serve(pipe: Connection, open_: Any) -> None:
    with suppress(EOFError):  # who asked is gone
        try:
            began = perf_counter()
            searcher = open_()
            searcher.search(["warm up"], 1)
            pipe.send(perf_counter() - began)
            while asked := pipe.recv():
                began, used = perf_counter(), process_time()
                hits = searcher.search(*asked)
                seconds, used = perf_counter() - began, process_time() - used
                pipe.send((seconds, used, [[hit.document_id for hit in row] for row in hits]))
            pipe.send(peak_megabytes())
        except Exception as error:
            pipe.send(error)


def peak_megabytes() -> float:
    """The most memory that this process has held, mapped files included, in MB."""
    return status_megabytes("VmHWM")


def status_megabytes(name: str) -> float:
    """One of the figures that Linux tells of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kibibytes = next(line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(kibibytes) / 2**10
