"""Over real sockets: clients that do not read or do not ask, and what uvicorn itself refuses."""

import json
import socket
import time
from contextlib import ExitStack

import pytest
from test_process import body, exchange, listening

from tsgen.serve import connections

BIG = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def connected(port: int, small: bool = False) -> socket.socket:
    """A connection; a small one takes next to nothing of what it is sent."""
    made = socket.socket()
    if small:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    made.connect(("127.0.0.1", port))
    made.settimeout(20)
    return made


def read_all(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def parts(answer: bytes) -> tuple[bytes, dict[str, dict[str, str]]]:
    """The head of an answer, and its JSON."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, json.loads(body)


@pytest.mark.parametrize(
    "sent", [b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"a: b\r\n\r\n"]
)
def test_what_is_not_http_is_answered_in_the_form_of_all_errors(sent: bytes) -> None:
    with listening() as port:
        head, answer = parts(exchange(port, sent))
    assert head.startswith(b"HTTP/1.1 400")
    assert b"application/json" in head
    assert answer["error"]["code"] == "bad_request"
    assert "found a request that is not HTTP" in answer["error"]["message"]


def test_clients_that_do_not_read_give_way() -> None:
    """As many as there are connections ask and never read, and others are answered."""
    with listening(connections=8) as port, ExitStack() as held:
        for _ in range(8):
            deaf = held.enter_context(connected(port, small=True))
            deaf.sendall(BIG * 200)
        for _ in range(8):
            until = time.monotonic() + 10  # while the server still writes, it says: in a second
            while not exchange(port, HEALTH).startswith(b"HTTP/1.1 200"):
                assert time.monotonic() < until


def test_a_client_that_does_not_read_is_cut_off() -> None:
    with listening(sending=0.2) as port, connected(port, small=True) as deaf:
        deaf.sendall(BIG * 400)
        time.sleep(1.5)
        with pytest.raises(ConnectionError):
            read_all(deaf)


def test_a_client_that_reads_slowly_gets_all_of_it() -> None:
    with listening(sending=1) as port, connected(port, small=True) as slow:
        slow.sendall(BIG * 30)
        slow.sendall(HEALTH)
        answer = b""
        while part := slow.recv(4096):
            answer += part
            time.sleep(0.001)
    assert answer.count(b"HTTP/1.1 200") == 31


def test_one_connection_too_many_is_answered_with_503() -> None:
    """All others are at work, so that none of them gives way."""
    asked = b'{"query": "rice"}'
    with listening(connections=2, slow=True) as port, ExitStack() as held:
        exchange(port, HEALTH)
        time.sleep(0.2)  # that connection is gone by now
        for _ in range(2):
            one = held.enter_context(connected(port))
            one.sendall(body(asked, **{"Content-Length": str(len(asked))}))
        time.sleep(2 * connections.WAITED)
        head, answer = parts(exchange(port, HEALTH))
    assert head.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 1" in head.lower()
    assert answer["error"]["code"] == "busy"


def test_silent_connections_give_way_too() -> None:
    with listening(connections=4) as port, ExitStack() as held:
        for _ in range(4):
            held.enter_context(connected(port))
        time.sleep(2 * connections.WAITED)
        assert exchange(port, HEALTH).startswith(b"HTTP/1.1 200")
