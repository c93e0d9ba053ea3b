"""Progress of long work. A stage calls `show`; whoever runs it decides what becomes of that.

Outside `reporting(…)` nothing is shown, so a library user hears nothing unasked.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Reporter = Callable[[str, int, int | None, str], None]
"""Called with what is being done, how much is done, of how many if that is known, and a note."""


def _silent(what: str, done: int, total: int | None, note: str) -> None:
    del what, done, total, note


_reporter: ContextVar[Reporter] = ContextVar("reporter", default=_silent)


def show(what: str, done: int, total: int | None = None, note: str = "") -> None:
    """Tell how far `what` has come; `note` says how it goes, e.g. the last loss."""
    _reporter.get()(what, done, total, note)


@contextmanager
def reporting(reporter: Reporter) -> Iterator[None]:
    """Send everything shown inside the block to `reporter`."""
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)
