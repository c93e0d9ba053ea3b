"""The server process: opens an engine, listens, and ends at a signal with its work done."""

import asyncio
import ipaddress
import logging
import signal
import socket
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from tsgen.errors import ConfigError
from tsgen.retrieve.engine import Engine
from tsgen.serve.app import create_app
from tsgen.serve.guard import check_token, log, write_logs
from tsgen.serve.limits import Limits
from tsgen.terms.words import Splitter

# Connections on which no request comes are closed after a while.

HEADERS = 15.0  # seconds for a request's first line and headers


class HeaderTimeout(H11Protocol):
    """uvicorn's protocol, which also closes a connection whose headers are not complete in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the headers of the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on for the rest of the headers, or stop if they are complete."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait for a connection that is gone."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADERS, self.transport.close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


GRACE = 5.0  # seconds beyond a request's limit for its answer to reach the client


def serve(
    engine: Path | str,
    host: str = "127.0.0.1",
    port: int = 8080,
    token: str | None = None,
    limits: Limits | None = None,
) -> None:
    """Serve an engine until SIGTERM or Ctrl-C; requests that have begun are still answered."""
    limits, token = limits or Limits(), check_token(token)
    with bind(host, port) as listening, Engine.load(engine) as opened:
        opened.hold()  # nobody replaces what is served
        opened.search("warm up", 1)  # the first search compiles; no client should wait for it
        listening.listen(limits.connections)
        write_logs()
        address = "http://{}:{}".format(*listening.getsockname()[:2])
        log("listening", address=address, documents=len(opened), writes=token is not None)
        if token is None and not _loopback(host):
            log("open_to_others", logging.WARNING, advice=_ADVICE)
        splitter = Splitter(opened.config.terms.words)
        run(create_app(opened, splitter, limits, token), listening, limits)
    log("ended")


def run(app: FastAPI, listening: socket.socket, limits: Limits) -> None:
    """Answer requests until a signal ends the process."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)  # having ended well is no failure
    try:
        uvicorn.Server(server_config(app, limits)).run([listening])
    finally:
        signal.signal(signal.SIGTERM, before)


def server_config(app: FastAPI, limits: Limits) -> uvicorn.Config:
    """The settings of uvicorn: protocol, number of connections, time to end."""
    return uvicorn.Config(
        app,
        http=HeaderTimeout,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=round(limits.seconds + GRACE),
    )


def bind(host: str, port: int) -> socket.socket:
    """Bind a socket before the engine is loaded, so that a taken port is reported at once; clients
    that come before the engine is loaded are turned away."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        return bound
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"cannot listen on {host} port {port}: {error}; expected an address of this machine "
            "and a free port. Choose others with --host and --port."
        ) from None


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_ADVICE = (
    "Others on the network can search; no one can change documents, since there is no token. "
    "Use --host 127.0.0.1, or a proxy that knows who may ask."
)
