"""Clients that search and now and then write, for a while."""

import threading
import time
from dataclasses import dataclass, field

import httpx2
import numpy as np

from serving_kit.server import AUTHORIZED, Server

SAMPLE = 0.5  # seconds between two readings of the memory


@dataclass
class Load:
    """What the clients saw."""

    searches: list[float] = field(default_factory=list)  # seconds each
    writes: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds, MB
    seconds: float = 0.0


@dataclass(frozen=True)
class Clients:
    """`count` of them, each one request after the other; `writes` is the share of changes."""

    queries: list[str]
    texts: list[str]
    count: int
    writes: float
    k: int

    def run(self, server: Server, seconds: float) -> Load:
        """Ask as fast as the answers come."""
        load, stop = Load(), threading.Event()
        threads = [
            threading.Thread(target=self._client, args=(server, load, stop, number))
            for number in range(self.count)
        ]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        while (passed := time.perf_counter() - began) < seconds:
            load.memory.append((passed, server.memory()))
            time.sleep(SAMPLE)
        stop.set()
        for thread in threads:
            thread.join()
        load.seconds = time.perf_counter() - began
        return load

    def _client(self, server: Server, load: Load, stop: threading.Event, number: int) -> None:
        rng, own = np.random.default_rng(number), _Own(self, number)
        with httpx2.Client(base_url=server.address, timeout=120) as http:
            while not stop.is_set():
                writes = rng.random() < self.writes
                began = time.perf_counter()
                try:
                    wrong = own.write(http) if writes else self._search(http, rng)
                except httpx2.HTTPError as error:
                    wrong = repr(error)
                seconds = time.perf_counter() - began
                (load.writes if writes else load.searches).append(seconds)
                if wrong:
                    load.errors.append(wrong)

    def _search(self, http: httpx2.Client, rng: np.random.Generator) -> str:
        query = self.queries[int(rng.integers(len(self.queries)))]
        answer = http.post("/search", json={"query": query, "k": self.k})
        return "" if answer.status_code == 200 else f"{answer.status_code}: {answer.text}"


class _Own:
    """One client's document, written and removed in turn, so that the collection does not grow."""

    def __init__(self, clients: Clients, number: int) -> None:
        self._texts, self._path, self._turn = clients.texts, f"/documents/client-{number}", number
        self._there = False

    def write(self, http: httpx2.Client) -> str:
        """Add it or, if it is there, remove it; what went wrong."""
        if self._there:
            answer = http.delete(self._path, headers=AUTHORIZED)
        else:
            self._turn += 1
            body = {"text": self._texts[self._turn % len(self._texts)]}
            answer = http.put(self._path, json=body, headers=AUTHORIZED)
        self._there = not self._there
        return "" if answer.is_success else f"{answer.status_code}: {answer.text}"
