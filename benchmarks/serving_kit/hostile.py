"""Requests that no one should send: random bytes, broken HTTP, broken JSON."""

import json
import random
import socket
from urllib.parse import urlsplit

ODD = [
    *(
        "",
        " ",
        "\x00",
        "\ud800",
        "\U0010ffff",
        "a" * 2000,
        "é" * 500,
        "' or 1=1",
        "../../etc/passwd",
    ),
    *(
        0,
        -1,
        1,
        2**31,
        2**63,
        10**40,
        -(10**400),
        1.5,
        1e308,
        float("nan"),
        float("inf"),
        None,
        True,
    ),
    *(
        [],
        {},
        [[]],
        {"a": []},
        ["x"] * 100,
        [None],
        'lang = "en"',
        "a.b >= 1 and not c exists",
        "(" * 200,
    ),
]
NAMES = ["query", "queries", "k", "beam", "where", "explain", "text", "title", "metadata", "x"]
NAMES += ["document", "shown"]
PATHS = ["/search", "/trace", "/why", "/documents/a", "/documents/%00", "/documents/%ff%fe", "/"]
PATHS += ["/documents/" + "x" * 600, "/ready", "/metrics", "/static/..%2f", "/openapi.json", "/%"]
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "BREW"]
TYPES = [
    "application/json",
    "application/json; charset=utf-16",
    "text/plain",
    "",
    "a/b;;;=",
    "\xff",
]


def hostile(rng: random.Random, token: str) -> bytes:
    """The bytes of one request, of one of several kinds."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 400)) + b"\r\n\r\n"
    body = _body(rng)
    request = _request(rng, body, token)
    if kind == 1:  # some bytes of a request are others
        changed = bytearray(request)
        for _ in range(rng.randrange(1, 8)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed)
    return request


def _body(rng: random.Random) -> bytes:
    if rng.random() < 0.15:
        return rng.randbytes(rng.randrange(300))
    names = rng.sample(NAMES, rng.randrange(5))
    value = {name: rng.choice(ODD) for name in names}
    if rng.random() < 0.5:
        value["query"] = rng.choice(["bread", "what is a list", "\x00 a", "\ud800"])
    if rng.random() < 0.3:
        value["text"] = rng.choice(["some words here", "\x00", "é"])
    text = json.dumps(value).encode()
    return text[: rng.randrange(len(text) + 1)] if rng.random() < 0.15 else text


def _request(rng: random.Random, body: bytes, token: str) -> bytes:
    method, path = rng.choice(METHODS), rng.choice(PATHS)
    length = rng.choice([str(len(body))] * 8 + ["0", "-1", "9" * 30])
    headers = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        f"Content-Type: {rng.choice([TYPES[0]] * 4 + TYPES)}",
        f"Authorization: {rng.choice(['Bearer ' + token] * 3 + ['Bearer', 'Basic eA==', 'x'])}",
        f"Content-Length: {length}",
        "Connection: close",
    ]
    return "\r\n".join(headers).encode("latin-1") + b"\r\n\r\n" + body


def send(address: str, request: bytes, patience: float) -> bytes:
    """The first line of the answer; nothing, if the connection was closed; a hang raises."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=patience) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while b"\r\n" not in answer and (part := connection.recv(65536)):
                answer += part
        except ConnectionError:
            return b""
        return answer.split(b"\r\n")[0]
