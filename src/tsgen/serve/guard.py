"""What every request passes: limits on its body and its time, errors, the log and the meters."""

import asyncio
import logging
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Any, Self
from uuid import uuid4

import orjson
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    ProcessCollector,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tsgen.serve.access import Access
from tsgen.serve.http_errors import HttpError
from tsgen.serve.limits import Limits

# Structured logs: one JSON object a line on stderr. Lengths and counts, never texts.

LOGGER = logging.getLogger("tsgen.serve")


class JsonLines(logging.Formatter):
    """A log format: one JSON object a line, with an event and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """One log record as a line of JSON."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        row: dict[str, Any] = {"time": time, "level": record.levelname.lower()}
        row |= {"event": record.getMessage()} | getattr(record, "fields", {})
        error = record.exc_info[1] if record.exc_info else None
        row |= _origin(error) if error else {}
        return orjson.dumps(row, default=str).decode()


def log(
    event: str, level: int = logging.INFO, error: BaseException | None = None, **fields: Any
) -> None:
    """Write one line to the log."""
    fields |= _origin(error) if error else {}
    LOGGER.log(level, event, extra={"fields": fields})


def _origin(error: BaseException) -> dict[str, Any]:
    """The kind of an exception and where it was raised, without its message, which may quote a
    document."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"exception": type(error).__name__, "raised_in": places}


def write_logs(stream: IO[str] | None = None) -> None:
    """Send this server's lines and those of uvicorn to a stream, by default stderr."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in (LOGGER.name, "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)


# What the server measures of itself, for Prometheus.

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64)
CONTENT_TYPE = CONTENT_TYPE_LATEST


@dataclass(frozen=True, slots=True)
class Meters:
    """The figures that one server measures of itself."""

    registry: CollectorRegistry
    requests: Counter
    seconds: Histogram
    batches: Histogram
    search_seconds: Histogram

    @classmethod
    def new(cls, documents: Callable[[], float], waiting: Callable[[], float]) -> Self:
        """Meters at zero; the two functions are called at each reading."""
        own = CollectorRegistry()
        ProcessCollector(registry=own)
        GCCollector(registry=own)
        gauges = {
            "tsgen_documents": ("Documents in the collection.", documents),
            "tsgen_waiting_queries": ("Queries that wait for the model.", waiting),
        }
        for name, (what, read) in gauges.items():
            Gauge(name, what, registry=own).set_function(read)
        counted = Counter(
            "tsgen_requests", "Requests.", ["route", "method", "status"], registry=own
        )
        return cls(
            own,
            counted,
            Histogram(
                "tsgen_request_seconds", "To the answer.", ["route"], registry=own, buckets=SECONDS
            ),
            Histogram("tsgen_batch_queries", "Answered together.", registry=own, buckets=SIZES),
            Histogram("tsgen_search_seconds", "For a batch.", registry=own, buckets=SECONDS),
        )

    def text(self) -> bytes:
        """The figures in Prometheus' text format."""
        return generate_latest(self.registry)


NOTED = "tsgen.noted"  # in the scope: what an endpoint adds to the request's line in the log
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH")
HEADERS = {b"x-content-type-options": b"nosniff", b"referrer-policy": b"no-referrer"}


@dataclass(slots=True)
class _Exchange:
    """A request, and how much has been answered to it."""

    scope: Scope
    send_on: Send
    request_id: str = field(default_factory=lambda: uuid4().hex[:16])
    began: float = field(default_factory=time.perf_counter)
    received: int = 0
    status: int = 0
    sent: int = 0

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = {b"x-request-id": self.request_id.encode(), **HEADERS}
            message["headers"] = [*message.get("headers", ()), *own.items()]
        else:
            self.sent += len(message.get("body", b""))
        await self.send_on(message)

    async def refuse(self, refused: HttpError) -> None:
        """Answer with an error, unless the answer has begun."""
        if not self.status:
            await refused.response()(self.scope, _nothing, self.send)


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, limits: Limits, meters: Meters, access: Access) -> None:
        self._app, self._limits, self._meters, self._access = app, limits, meters, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request pass, within the limits."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, send)
        scope[NOTED] = {}
        try:
            await self._within_limits(exchange, receive)
        finally:
            self._note(exchange)

    async def _within_limits(self, exchange: _Exchange, receive: Receive) -> None:
        late = self._slow_body()
        try:
            self._access.check(exchange.scope)
            async with asyncio.timeout(self._limits.seconds):
                body = await self._read(exchange, receive)
                late = self._slow_answer(exchange.scope["method"])
                await self._app(exchange.scope, _replay(body, receive), exchange.send)
        except TimeoutError:
            await exchange.refuse(late)
        except _Gone:
            exchange.status = 499  # the client closed the connection; no one reads an answer
        except HttpError as refused:
            await exchange.refuse(refused)
        except Exception as error:
            log("error", logging.ERROR, error, request=exchange.request_id)
            await exchange.refuse(_our_fault(exchange.request_id))

    async def _read(self, exchange: _Exchange, receive: Receive) -> bytes:
        """The whole body, if it is not too long."""
        declared = dict(exchange.scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and len(declared) < 20:
            self._check_size(int(declared))
        parts, more = [], True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            parts.append(message.get("body", b""))
            exchange.received += len(parts[-1])
            self._check_size(exchange.received)
            more = message.get("more_body", False)
        return b"".join(parts)

    def _check_size(self, size: int) -> None:
        most = self._limits.body
        if size > most:
            message = f"found a body of {size:,} bytes or more; expected at most {most:,}. "
            advice = "Send less, or let the server take more with --limit body=N."
            raise HttpError(413, "too_large", message + advice, {"Connection": "close"})

    def _slow_body(self) -> HttpError:
        message = (
            f"found an incomplete body after {self._limits.seconds:g} seconds; expected all of it. "
            "Send it faster, or allow more with --limit seconds=N."
        )
        return HttpError(408, "too_slow", message, {"Connection": "close"})

    def _slow_answer(self, method: str) -> HttpError:
        message = (
            f"found no answer within {self._limits.seconds:g} seconds. Ask for less (fewer "
            "queries, a smaller k or beam), or allow more with --limit seconds=N."
        )
        changed = " The change had not begun and is not made: send it again."
        return HttpError(408, "too_slow", message + changed * (method in ("PUT", "DELETE")))

    def _note(self, exchange: _Exchange) -> None:
        scope, seconds = exchange.scope, time.perf_counter() - exchange.began
        route = getattr(scope.get("route"), "path_format", "none")
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._meters.requests.labels(route, method, str(exchange.status)).inc()
        self._meters.seconds.labels(route).observe(seconds)
        log(
            "request",
            request=exchange.request_id,
            method=method,
            route=route,
            status=exchange.status,
            milliseconds=round(seconds * 1000, 1),
            received=exchange.received,
            sent=exchange.sent,
            **scope[NOTED],
        )


class _Gone(Exception):
    """The client has closed the connection."""


def _our_fault(request_id: str) -> HttpError:
    message = (
        "found an error in the server itself; expected none. Report it with the lines of its log "
        f"that have the request {request_id}."
    )
    return HttpError(500, "error", message)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive function that hands out a body already read, then whatever comes after it."""
    messages: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
