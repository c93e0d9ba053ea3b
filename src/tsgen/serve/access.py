"""Who may ask a server: the names it answers to, and the tokens for reading and for changes.

A page of another site can reach a server on the loopback if the name of that site is made to
resolve to 127.0.0.1 (DNS rebinding). Its requests carry that name in the header Host, so only known
names are answered: the names of this machine, those that were allowed, and any address written as
numbers, which is no name and cannot be rebound.
"""

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Self
from urllib.parse import unquote_to_bytes

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.types import Scope

from tsgen.errors import ConfigError
from tsgen.serve.http_errors import HttpError, shown

ANY = "*"  # among the allowed hosts: whatever name a request carries
OPEN = ("/", "/health", "/ready")  # what needs no token: no document is read there
PAGE = "/static/"

_bearer = HTTPBearer(auto_error=False, description="The server's --token or TSGEN_TOKEN.")
Sent = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


@dataclass(frozen=True, slots=True)
class Access:
    """Which requests a server answers.

    Args:
        token: Who sends it may change documents, and read; without one, nobody may change any.
        read_token: Who sends it may read; without one, everybody may.
        hosts: The names, in lower case, that a request's header Host may carry.
    """

    token: str | None
    read_token: str | None
    hosts: frozenset[str]

    @classmethod
    def of(
        cls,
        token: str | None = None,
        read_token: str | None = None,
        hosts: Iterable[str] = (),
        listening_on: str = "",
    ) -> Self:
        """Check the tokens; add this machine's own names to the hosts that are allowed."""
        if read_token is not None and read_token == token:
            raise ConfigError(
                "found the same token for reading and for changes; expected two, or everyone who "
                "may read may change documents. Leave one of them out, or choose another."
            )
        own = {"localhost", socket.gethostname(), listening_on, *hosts}
        names = frozenset(name.lower().rstrip(".") for name in own if name)
        return cls(check_token(token), check_token(read_token), names)

    def check(self, scope: Scope) -> None:
        """Refuse a request for another host, one whose path is not text, and reading without the
        token that it needs; to be called before anything else of a request is looked at."""
        headers = dict(scope["headers"])
        self._check_host(headers.get(b"host"))
        check_path(scope.get("raw_path") or b"")
        path = scope["path"]
        if self.read_token is None or path in OPEN or path.startswith(PAGE):
            return
        kind, _, sent = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        known = [one for one in (self.read_token, self.token) if one is not None]
        matches = [same(sent.strip(), one) for one in known]  # all of them: in equal time
        if kind.lower() != "bearer" or True not in matches:
            found = "a wrong token" if sent else "no token"
            raise HttpError(401, "unauthorized", f"found {found}; {_EXPECTED_READ}", _CHALLENGE)

    def _check_host(self, sent: bytes | None) -> None:
        if sent is None or ANY in self.hosts:  # HTTP/1.0; browsers always send it
            return
        name = host_name(sent.decode("latin-1"))
        if name not in self.hosts and not _is_address(name):
            message = (
                f"found a request for the host {shown(name)}; expected one of this server's names. "
                "If it is one of them, start the server with --allow-host NAME."
            )
            raise HttpError(421, "unknown_host", message)

    def writers_only(self) -> Callable[[Sent], Awaitable[None]]:
        """A dependency that lets only those through who send the token for changes."""

        async def check(sent: Sent) -> None:
            if self.token is None:
                raise HttpError(403, "read_only", _READ_ONLY)
            if sent is None or not same(sent.credentials, self.token):
                found = "no token" if sent is None else "a wrong token"
                raise HttpError(401, "unauthorized", f"found {found}; {_EXPECTED}", _CHALLENGE)

        return check


def check_token(token: str | None) -> str | None:
    """Refuse a token that an HTTP header cannot carry."""
    if token is not None and not (token and token.isascii() and token.isprintable()):
        raise ConfigError(
            f"found a token of {len(token)} characters that a header cannot carry; expected "
            "printable ASCII, e.g. the output of: openssl rand -hex 24"
        )
    return token


def check_path(raw: bytes) -> None:
    """Refuse a path that is not UTF-8: two of them would be taken for the same document."""
    try:
        unquote_to_bytes(raw).decode()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        message = (
            f"found the byte 0x{byte:02x} in the path, which is not valid UTF-8 there; expected "
            "UTF-8, percent-encoded."
        )
        raise HttpError(400, "bad_request", message) from None


def host_name(header: str) -> str:
    """The name or address in a header Host, without the port, in lower case."""
    header = header.strip()
    if header.startswith("["):  # an IPv6 address
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower().rstrip(".")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    return ipaddress.ip_address(host).is_loopback if _is_address(host) else host == "localhost"


def same(one: str, other: str) -> bool:
    """Compare two secrets in a time that depends on neither: hashed, so that not even the length
    shows."""
    digests = (sha256(text.encode("utf-8", "surrogateescape")).digest() for text in (one, other))
    return hmac.compare_digest(*digests)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_EXPECTED = "expected the server's. Send the header 'Authorization: Bearer TOKEN'."
_EXPECTED_READ = (
    "expected the server's token for reading. Send the header 'Authorization: Bearer TOKEN'."
)
_READ_ONLY = (
    "found a change, but this server has no token; expected one, since only those who know it may "
    "change documents. Start the server with --token or the variable TSGEN_TOKEN."
)
