"""The connections of the server: whom it waits for, how long, and who gives way when it is full.

A server waits for its clients: for the first line and the headers of a request, for the body, for
the answer to be read. It waits a limited time for each, and where all connections are taken, the
one on which it has waited longest gives way to a new one, first of the client that has most of
them. A connection whose request is being worked on never gives way. What uvicorn itself refuses
(broken HTTP, one connection too many) is answered in the form of all errors.
"""

import asyncio
import socket
import struct
from collections import Counter
from time import monotonic
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tsgen.serve.http_errors import HttpError
from tsgen.serve.limits import Limits

HEADERS = 15.0  # seconds for a request's first line and headers
TICK = 0.25  # of the time to send: how often is looked whether the client reads
WAITED = 0.25  # seconds: a connection on which less was waited does not give way
SPARE = 64  # connections beyond the limit that are answered with a 503; others are cut off


class PatientConnection(H11Protocol):
    """uvicorn's protocol for a connection, with the limits of the server.

    `keywords` are those of uvicorn's own class.
    """

    def __init__(self, *, limits: Limits, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._limits = limits
        self._headers: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None
        self._unsent = 0
        self._since = monotonic()  # when the client last did something

    # What uvicorn calls.

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the headers of the first request; if all connections are taken, another
        one gives way, or this one is answered with a 503."""
        super().connection_made(transport)
        taken = len(self.connections)
        if taken > self._limits.connections + SPARE:
            self.cut_off()
        elif taken > self._limits.connections and not self._make_room():
            self.app = _full(self._limits.connections)
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        """Wait on for the rest of the headers, or stop if they are complete."""
        self._since = monotonic()
        super().data_received(data)
        if self._is_idle():
            self._wait_for_headers()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait for a connection that is gone."""
        self._stop_waiting()
        if self._sending is not None:
            self._sending.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read as fast as the answer comes: wait a limited time for it."""
        super().pause_writing()
        self._watch_sending()

    def on_response_complete(self) -> None:
        """An answer was written, though not all of it may have been taken."""
        self._since = monotonic()
        super().on_response_complete()
        self._watch_sending()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP in the form of all errors."""
        message = (
            f"found a request that is not HTTP ({msg.rstrip('.').lower()}); expected HTTP/1.1 with "
            "a first line and headers of at most 64 KiB. Use an HTTP client, e.g. curl."
        )
        answer = HttpError(400, "bad_request", message).response()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            headers = [*answer.raw_headers, (b"connection", b"close")]
            events = (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=bytes(answer.body)),
                h11.EndOfMessage(),
            )
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._watch_sending()

    # Waiting for the client.

    def waited(self, now: float) -> float | None:
        """For how many seconds the server has waited for this client; None while it is the server
        itself that has something to do."""
        at_work = not self._is_idle() and not self.cycle.more_body and not self.flow.write_paused
        return None if at_work else now - self._since

    def cut_off(self) -> None:
        """Close the connection now, and let the system forget what the client has not taken."""
        open_socket = self.transport.get_extra_info("socket")
        if open_socket is not None and open_socket.fileno() >= 0:
            open_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_headers(self) -> None:
        if self._headers is None:
            self._headers = self.loop.call_later(HEADERS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._headers is not None:
            self._headers.cancel()
            self._headers = None

    def _watch_sending(self) -> None:
        """Look now and then whether the client takes what it is sent, while there is something."""
        if self._sending is None and self.transport.get_write_buffer_size():
            self._unsent = self.transport.get_write_buffer_size()
            self._since = monotonic()
            self._sending = self.loop.call_later(TICK * self._limits.sending, self._look)

    def _look(self) -> None:
        self._sending = None
        unsent = self.transport.get_write_buffer_size()
        if not unsent:
            return
        if unsent != self._unsent:  # some was taken, or more was written because it was
            self._unsent, self._since = unsent, monotonic()
        elif monotonic() - self._since >= self._limits.sending:
            self.cut_off()
            return
        self._sending = self.loop.call_later(TICK * self._limits.sending, self._look)

    # Giving way.

    def _make_room(self) -> bool:
        """Close the connection that gives way to this one; whether there was any."""
        now = monotonic()
        others = [one for one in self.connections if one is not self]
        held = Counter(_address(one) for one in others)
        candidates = [
            (held[_address(one)], waited, one)
            for one in others
            if isinstance(one, PatientConnection)
            and (waited := one.waited(now)) is not None
            and waited >= WAITED
        ]
        if not candidates:
            return False
        *_, victim = max(candidates, key=lambda candidate: candidate[:2])
        self.connections.discard(victim)  # before it is lost, so that it does not count twice
        victim.cut_off()
        return True


def _address(connection: Any) -> str:
    """The client's address; one name for all that have none, as on a Unix socket."""
    return connection.client[0] if connection.client else ""


def _full(most: int) -> Any:
    """An application that answers each request with a 503."""
    message = (
        f"found {most} connections open, which is as many as this server takes. Ask again in a "
        "second, or let the server take more with --limit connections=N."
    )
    headers = {"Retry-After": "1", "Connection": "close"}

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await HttpError(503, "busy", message, headers).response()(scope, receive, send)

    return answer
