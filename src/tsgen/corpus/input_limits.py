"""How much every input may hold: data files, lines, documents, queries, filters, metadata.

Nothing that is read can make tsgen take more memory or time than these limits allow. They are far
above what data sets have; what is beyond them is refused with a message that names the limit, not
cut off. Files of any length are read piece by piece, so there is no limit for these.
"""

from collections.abc import Sequence
from typing import Any

from tsgen.errors import ConfigError, DataError

LINE = 64 * 2**20
"""Bytes of one line of a data file, or of one item of a JSON list."""

EXPANSION = 200
"""How many times its own size a compressed file may grow to (texts grow to 3 to 20 times)."""

ALWAYS = 64 * 2**20
"""Bytes that any compressed file may grow to, however small it is."""

TEXT_FILE = 16 * 2**20
"""Bytes of a file that is one document (.md, .txt, .rst), and of a file of settings."""

DOCUMENT = 10_000_000
"""Characters of a document's title and text."""

QUERY = 10_000
"""Characters of a query, and of a filter."""

DEPTH = 16
"""Lists and objects inside one another in a document's metadata."""


def check_queries(queries: Sequence[str], k: int, beam: int | None) -> None:
    """Refuse one text where several queries are expected, since its letters would be searched for;
    queries that are too long or not valid Unicode; and fewer hits or hypotheses than one."""
    if isinstance(queries, str):
        raise DataError(
            f"found one str, {queries[:60]!r}; expected a list of queries. Put it into a list: "
            "search([query], k)."
        )
    for query in queries:
        check_text(query, "query")
    for name, value in (("k", k), ("beam", beam)):
        if value is not None and value < 1:
            raise ConfigError(f"found {name} = {value}; expected a whole number of at least 1.")


def check_text(text: str, what: str) -> None:
    """Refuse a query or a filter that is too long or not valid Unicode."""
    if len(text) > QUERY:
        raise DataError(
            f"found a {what} of {len(text):,} characters; expected at most {QUERY:,}. Shorten it."
        )
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            at = max(0, error.start - 20)
            raise DataError(
                f"found a {what} that is not valid Unicode after {text[at : error.start]!r}; "
                "expected text in UTF-8."
            ) from None


def too_long(title: str, text: str) -> str | None:
    """What is wrong with the length of a document, or None."""
    length = len(title) + len(text)
    if length <= DOCUMENT:
        return None
    return f"found {length:,} characters; expected at most {DOCUMENT:,} in a document. Divide it"


def is_too_deep(value: Any, deepest: int = DEPTH) -> bool:
    """Whether lists and objects lie inside one another deeper than they may."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return not deepest or any(is_too_deep(each, deepest - 1) for each in inner)
