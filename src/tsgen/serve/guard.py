"""What every request passes: limits on its body and its time, errors, the log and the meters."""

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tsgen.serve.limits import Limits
from tsgen.serve.logs import log
from tsgen.serve.meters import Meters
from tsgen.serve.refused import Refused

NOTED = "tsgen.noted"  # in the scope: what an endpoint adds to the request's line in the log
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH")
HEADERS = {b"x-content-type-options": b"nosniff", b"referrer-policy": b"no-referrer"}


@dataclass(slots=True)
class _Exchange:
    """A request and what has been answered to it."""

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

    async def refuse(self, refused: Refused) -> None:
        """Answer with an error, unless the answer has begun."""
        if not self.status:
            await refused.response()(self.scope, _nothing, self.send)


class Guard:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, limits: Limits, meters: Meters) -> None:
        self._app, self._limits, self._meters = app, limits, meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
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
            async with asyncio.timeout(self._limits.seconds):
                body = await self._read(exchange, receive)
                late = self._slow_answer(exchange.scope["method"])
                await self._app(exchange.scope, _replay(body, receive), exchange.send)
        except TimeoutError:
            await exchange.refuse(late)
        except _Gone:
            exchange.status = 499  # the client closed the connection; no one reads an answer
        except Refused as refused:
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
            raise Refused(413, "too_large", message + advice, {"Connection": "close"})

    def _slow_body(self) -> Refused:
        message = (
            f"found an incomplete body after {self._limits.seconds:g} seconds; expected all of it. "
            "Send it faster, or allow more with --limit seconds=N."
        )
        return Refused(408, "too_slow", message, {"Connection": "close"})

    def _slow_answer(self, method: str) -> Refused:
        message = (
            f"found no answer within {self._limits.seconds:g} seconds. Ask for less (fewer "
            "queries, a smaller k or beam), or allow more with --limit seconds=N."
        )
        changed = " The change may still be made: get the document to see it."
        return Refused(408, "too_slow", message + changed * (method in ("PUT", "DELETE")))

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


def _our_fault(request_id: str) -> Refused:
    message = (
        "found an error in the server itself; expected none. Report it with the lines of its log "
        f"that have the request {request_id}."
    )
    return Refused(500, "error", message)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Hand out a body that has been read, then whatever comes after it."""
    messages: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
