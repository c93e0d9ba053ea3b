"""The server process: opens an engine, listens, and ends at a signal with its work done."""

import logging
import signal
import socket
from functools import partial
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from tsgen.errors import ConfigError
from tsgen.retrieve.engine import Engine
from tsgen.serve.access import Access, is_loopback
from tsgen.serve.app import create_app
from tsgen.serve.connections import PatientConnection
from tsgen.serve.guard import log, write_logs
from tsgen.serve.limits import Limits
from tsgen.serve.local import listening_locally
from tsgen.terms.words import Splitter

GRACE = 5.0  # seconds beyond a request's limit for its answer to reach the client


def serve(
    engine: Path | str,
    host: str = "127.0.0.1",
    port: int = 8080,
    access: Access | None = None,
    limits: Limits | None = None,
) -> None:
    """Serve an engine until SIGTERM or Ctrl-C; requests that have begun are still answered."""
    limits, access = limits or Limits(), access or Access.of(listening_on=host)
    with bind(host, port) as listening, Engine.load(engine) as opened:
        opened.hold()  # nobody replaces what is served
        opened.search("warm up", 1)  # the first search compiles; no client should wait for it
        listening.listen(limits.connections)
        write_logs()
        address = "http://{}:{}".format(*listening.getsockname()[:2])
        log(
            "listening",
            address=address,
            documents=len(opened),
            writes=access.token is not None,
            reads="everyone" if access.read_token is None else "with a token",
        )
        if access.read_token is None and not is_loopback(host):
            log("open_to_others", logging.WARNING, advice=_ADVICE)
        splitter = Splitter(opened.config.terms.words)
        app = create_app(opened, splitter, limits, access)
        with listening_locally(opened.folder, app.state.serving):
            run(app, listening, limits)
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
        http=partial(PatientConnection, limits=limits),  # type: ignore[arg-type]
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
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


_ADVICE = (
    "Everyone on the network who reaches this server can read all documents, and over plain HTTP. "
    "Use --host 127.0.0.1, or --read-token (TSGEN_READ_TOKEN) and a proxy with TLS."
)
