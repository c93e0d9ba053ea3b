"""A listening server: what comes over real sockets, and how it ends."""

import asyncio
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from typing import Any

import pytest
import uvicorn
from served import Foods

import running
from tsgen.errors import ConfigError
from tsgen.serve import connections
from tsgen.serve.app import create_app
from tsgen.serve.limits import Limits
from tsgen.serve.server import bind, run, server_config

JSON = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@contextmanager
def listening(slow: bool = False, **limits: float) -> Iterator[int]:
    """A server in a thread; its port. If it is slow, searches wait until the end."""
    values = Limits.from_mapping(limits)
    bound, foods = bind("127.0.0.1", 0), Foods()
    if slow:
        foods.may_go_on.clear()
    server = uvicorn.Server(server_config(create_app(foods, limits=values), values))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([bound])))
    thread.start()
    try:
        port: int = bound.getsockname()[1]
        wait_for(port)
        yield port
    finally:
        foods.may_go_on.set()
        server.should_exit = True
        thread.join()


def wait_for(port: int) -> None:
    while True:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return


def exchange(port: int, *parts: bytes) -> bytes:
    """Send, and read until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        for part in parts:
            connection.sendall(part)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def body(text: bytes, **headers: str) -> bytes:
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
    return JSON + more + b"Connection: close\r\n\r\n" + text


def test_a_search() -> None:
    asked = b'{"query": "rice"}'
    with listening() as port:
        answer = exchange(port, body(asked, **{"Content-Length": str(len(asked))}))
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b'"document":"d2"' in answer
    assert b"\r\nserver:" not in answer.lower()


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\xff\xfe\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 40 + b"\r\n\r\n",
        JSON + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        JSON + b"Content-Length: 2000000\r\nConnection: close\r\n\r\n{}",
    ],
)
def test_what_is_not_http_or_too_much_is_refused(sent: bytes) -> None:
    with listening(seconds=5) as port:
        answer = exchange(port, sent)
        assert answer[:10] in (b"HTTP/1.1 4", b""), answer[:200]
        health = exchange(port, b"GET /health HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n")
        assert health.startswith(b"HTTP/1.1 200")


def test_a_body_that_does_not_come() -> None:
    with listening(seconds=0.2) as port:
        answer = exchange(port, body(b"{", **{"Content-Length": "20"}))
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"found an incomplete body after 0.2 seconds" in answer


@pytest.mark.parametrize("sent", [b"", b"GET / HT"])
def test_a_silent_connection_is_closed(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADERS", 0.1)
    with listening() as port:
        assert exchange(port, sent) == b""


def serve_slowly(port: Any, began: Event, may_go_on: Event) -> None:
    """In a process of its own: a search waits until it may go on."""

    class Slow(Foods):
        def search(self, *asked: Any, **how: Any) -> Any:
            began.set()
            may_go_on.wait(60)
            return super().search(*asked, **how)

    bound, limits = bind("127.0.0.1", 0), Limits()
    port.send(bound.getsockname()[1])
    run(create_app(Slow(), limits=limits), bound, limits)


def test_sigterm_finishes_what_is_running() -> None:
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(running.PRELOADED)
    began, may_go_on = processes.Event(), processes.Event()
    here, there = processes.Pipe()
    process = processes.Process(target=serve_slowly, args=(there, began, may_go_on))
    process.start()
    port = here.recv()
    wait_for(port)
    asked = b'{"query": "rice"}'
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(body(asked, **{"Content-Length": str(len(asked))}))
        assert began.wait(60)
        assert process.pid
        os.kill(process.pid, signal.SIGTERM)
        while True:  # until no one is let in
            with socket.socket() as late:
                if late.connect_ex(("127.0.0.1", port)):
                    break
        may_go_on.set()
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b'"document":"d2"' in answer
    process.join(60)
    assert process.exitcode == 0


def test_a_taken_port_is_told() -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(ConfigError, match="expected an address of this machine and a free"):
            bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ConfigError, match="cannot listen on nowhere"):
        bind("nowhere.invalid", 80)
