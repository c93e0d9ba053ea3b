"""Clients that search and now and then write, for a while."""

import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from serving_kit.server import AUTHORIZED, Server

SAMPLE = 0.5  # seconds between two readings of the memory
PATIENCE = 120.0  # seconds for an answer
JSON = {"Content-Type": "application/json"}


@dataclass
class Load:
    """What the clients saw."""

    searches: list[float] = field(default_factory=list)  # seconds each
    writes: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds, MB
    seconds: float = 0.0
    processor: float = 0.0  # seconds that the server used of the processor


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
        began, used = time.perf_counter(), server.processor()
        for thread in threads:
            thread.start()
        while (passed := time.perf_counter() - began) < seconds:
            load.memory.append((passed, server.memory()))
            time.sleep(SAMPLE)
        stop.set()
        for thread in threads:
            thread.join()
        load.seconds, load.processor = time.perf_counter() - began, server.processor() - used
        return load

    def _client(self, server: Server, load: Load, stop: threading.Event, number: int) -> None:
        rng, own = np.random.default_rng(number), _Own(self, number)
        connection = _Connection(server.address)
        while not stop.is_set():
            writes = rng.random() < self.writes
            began = time.perf_counter()
            try:
                wrong = own.write(connection) if writes else self._search(connection, rng)
            except (OSError, http.client.HTTPException) as error:
                wrong = repr(error)
            seconds = time.perf_counter() - began
            (load.writes if writes else load.searches).append(seconds)
            if wrong:
                load.errors.append(wrong)
        connection.close()

    def _search(self, connection: "_Connection", rng: np.random.Generator) -> str:
        query = self.queries[int(rng.integers(len(self.queries)))]
        return connection.ask("POST", "/search", {"query": query, "k": self.k})


class _Connection:
    """One client's connection. The standard library's, which leaves most of the processor to the
    server that is measured on the same machine."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self._http = http.client.HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> str:
        """Send a request and read the whole answer; what went wrong, or nothing."""
        data = None if body is None else json.dumps(body).encode()
        try:
            self._http.request(method, path, data, JSON | headers)
            answer = self._http.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self._http.close()  # the next request opens another connection
            raise
        return "" if answer.status < 300 else f"{answer.status}: {text[:300]!r}"

    def close(self) -> None:
        """Close it."""
        self._http.close()


class _Own:
    """One client's document, written and removed in turn, so that the collection does not grow."""

    def __init__(self, clients: Clients, number: int) -> None:
        self._texts, self._path, self._turn = clients.texts, f"/documents/client-{number}", number
        self._there = False

    def write(self, connection: _Connection) -> str:
        """Add it or, if it is there, remove it; what went wrong."""
        if self._there:
            wrong = connection.ask("DELETE", self._path, **AUTHORIZED)
        else:
            self._turn += 1
            body = {"text": self._texts[self._turn % len(self._texts)]}
            wrong = connection.ask("PUT", self._path, body, **AUTHORIZED)
        self._there = not self._there
        return wrong
