"""Structured logs: one JSON object a line on stderr. Lengths and counts, never texts."""

import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import IO, Any

import orjson

LOGGER = logging.getLogger("tsgen.serve")


class JsonLines(logging.Formatter):
    """`event` and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        row: dict[str, Any] = {"time": time, "level": record.levelname.lower()}
        row |= {"event": record.getMessage()} | getattr(record, "fields", {})
        error = record.exc_info[1] if record.exc_info else None
        row |= _origin(error) if error else {}
        return orjson.dumps(row, default=str).decode()


def log(
    event: str, level: int = logging.INFO, error: BaseException | None = None, **fields: Any
) -> None:
    """Write one line."""
    fields |= _origin(error) if error else {}
    LOGGER.log(level, event, extra={"fields": fields})


def _origin(error: BaseException) -> dict[str, Any]:
    """The kind of an exception and where it was raised; not its message, which may quote a
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
