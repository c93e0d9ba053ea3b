"""Every error that a client can meet, in one form: what was found, what was expected, what to do.

{"error": {"code": "too_large", "message": "…"}}
"""

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from tsgen.errors import ArtifactError, DamagedError, LockedError, ReplacedError, TsgenError

SHOWN = 60  # characters of a client's own value that a message repeats
EXPECTED = {
    "less_than_equal": "at most {le}",
    "greater_than_equal": "at least {ge}",
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "at least {min_length} characters",
    "too_long": "at most {max_length}",
    "too_short": "at least {min_length}",
    "extra_forbidden": "a name that it knows",
    "string_pattern_mismatch": "no control characters",
}
LIMITS = {"less_than_equal", "string_too_long", "too_long"}
CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed"}


class HttpError(Exception):
    """A request that is refused, and why."""

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers

    def response(self) -> Response:
        """The answer that the client gets."""
        message = self.message.encode("utf-8", "backslashreplace").decode()
        return Json({"error": {"code": self.code, "message": message}}, self.status, self)


class Json(Response):
    """An answer of plain values or dataclasses, as JSON."""

    media_type = "application/json"

    def __init__(self, value: Any, status: int = 200, refused: HttpError | None = None) -> None:
        super().__init__(value, status, refused.headers if refused else None)

    def render(self, content: Any) -> bytes:
        """The answer as bytes of JSON."""
        return orjson.dumps(content)


def answer_errors(app: FastAPI) -> None:
    """Make the app answer every kind of error in the one form."""
    app.add_exception_handler(HttpError, _on_http_error)
    app.add_exception_handler(TsgenError, _on_tsgen_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)


async def _on_http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HttpError)
    return error.response()


async def _on_tsgen_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, TsgenError)
    return of_engine(error).response()


def of_engine(error: TsgenError) -> HttpError:
    """The error of an engine as a client gets it. What is the server's affair is told without the
    server's paths, which its log has."""
    if isinstance(error, LockedError):
        message = (
            "found the engine locked by another process that writes; expected a turn within half a "
            "minute. Nothing was changed. Ask again in a moment."
        )
        return HttpError(503, "busy", message, {"Retry-After": "5"})
    if isinstance(error, ReplacedError):
        message = (
            "found the engine's folder replaced or removed since this server opened it; expected "
            "the same. Nothing was read or changed. The server has to be started again."
        )
        return HttpError(503, "not_ready", message, {"Retry-After": "30"})
    if isinstance(error, DamagedError):
        return HttpError(500, "damaged", str(error))
    if isinstance(error, ArtifactError):
        return HttpError(409, "unchangeable", str(error))
    return HttpError(422, "invalid", str(error))


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    sent = request.headers.get("content-type", "")
    if isinstance(error.body, bytes):
        message = (
            f"found the content type {shown(sent)}; expected application/json. Send the header "
            "'Content-Type: application/json'."
        )
        return HttpError(415, "not_json", message).response()
    problems = error.errors()
    advice = "Ask for less, or start the server with a higher --limit."
    limit = any(detail["type"] in LIMITS for detail in problems)
    message = "; ".join(_explain(detail) for detail in problems[:5])
    message = f"{message}. {advice if limit else 'See /openapi.json.'}"
    return HttpError(422, "invalid", message).response()


async def _on_http(request: Request, error: Exception) -> Response:
    """What the framework itself refuses: unknown paths, wrong methods, bodies beyond parsing."""
    assert isinstance(error, HTTPException)
    found = f"{request.method} {shown(request.url.path)}"
    expected = {
        400: "expected a body that is valid JSON, not too deep, without huge numbers",
        404: "expected a path of this server, e.g. POST /search or GET /documents/{id}",
        405: f"expected one of the methods {(error.headers or {}).get('Allow', 'of this path')}",
    }.get(error.status_code, str(error.detail))
    code = CODES.get(error.status_code, "refused")
    message = f"found {found}; {expected}. See /openapi.json."
    return HttpError(error.status_code, code, message, error.headers).response()


def _explain(detail: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "json_invalid":
        error = detail["ctx"]["error"]
        return f"{place}: found {error!r} while reading it; expected valid JSON"
    if detail["type"] == "missing":
        return f"{place}: found nothing; expected a value"
    known = EXPECTED.get(detail["type"])
    expected = known.format(**detail.get("ctx", {})) if known else str(detail["msg"])
    expected = expected.removeprefix("Value error, ").removeprefix("Input should be ")
    return f"{place}: found {shown(detail['input'])}; expected {_ascii(expected)}"


def shown(value: Any) -> str:
    """The start of a value, in characters that every client can read."""
    if isinstance(value, str) and len(value) > SHOWN:
        return f"{len(value):,} characters"
    if isinstance(value, list | dict):
        kind = "a list" if isinstance(value, list) else "an object"
        return f"{kind} of {len(value):,}"
    if isinstance(value, int) and abs(value) >= 2**63:
        return "a number of over 64 bits"
    text = _ascii(repr(value))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode("ascii")
