"""Who may change documents: those who know the token."""

import hmac
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from tsgen.errors import ConfigError
from tsgen.serve.refused import Refused

_bearer = HTTPBearer(auto_error=False, description="The server's --token or TSGEN_TOKEN.")
Sent = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


def check_token(token: str | None) -> str | None:
    """A token that a header can carry."""
    if token is not None and not (token and token.isascii() and token.isprintable()):
        raise ConfigError(
            f"found a token of {len(token)} characters that a header cannot carry; expected "
            "printable ASCII, e.g. the output of: openssl rand -hex 24"
        )
    return token


def writers_only(token: str | None) -> Callable[[Sent], Awaitable[None]]:
    """A dependency that lets only those through who send the token."""

    async def check(sent: Sent) -> None:
        if token is None:
            raise Refused(403, "read_only", _READ_ONLY)
        if sent is None or not _same(sent.credentials, token):
            found = "no token" if sent is None else "a wrong token"
            raise Refused(401, "unauthorized", f"found {found}; {_EXPECTED}", _CHALLENGE)

    return check


def _same(one: str, other: str) -> bool:
    """Compared in a time that depends on neither: hashed, so that not even the length shows."""
    digests = (sha256(text.encode("utf-8", "surrogateescape")).digest() for text in (one, other))
    return hmac.compare_digest(*digests)


_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_EXPECTED = "expected the server's. Send the header 'Authorization: Bearer TOKEN'."
_READ_ONLY = (
    "found a change, but this server has no token; expected one, since only those who know it may "
    "change documents. Start the server with --token or the variable TSGEN_TOKEN."
)
