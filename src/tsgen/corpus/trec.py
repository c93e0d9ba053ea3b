"""TREC files: topics (`<top>` blocks) and qrels, also with the columns of BEIR and MS MARCO."""

import re
from collections.abc import Iterator
from pathlib import Path

from tsgen.corpus.sources import (
    BadRecord,
    Source,
    decode,
    file_source,
    first_line,
    numbered_lines,
    stem_and_format,
)
from tsgen.corpus.table_files import query_table
from tsgen.errors import DataError
from tsgen.records import Judgment, Query

QRELS_FORMATS = ("tsv", "txt", "qrels")
_HEADERS = ("query-id", "query_id", "qid", "topic")
_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)")
_TITLE = re.compile(r"<title>\s*(?:Topic:)?\s*([^<]*)")


def query_file(path: Path) -> Source[Query]:
    """The source of queries in a file of TREC topics, JSONL, CSV, or ids and texts."""
    if first_line(path).lstrip().startswith(b"<"):
        return file_source(path, _topic, raw=_blocks)
    return query_table(path)


def qrels_file(path: Path) -> Source[Judgment]:
    """The source of judgments in a file with the columns query, document, grade (BEIR), or query,
    0, document, grade (TREC), or query, document."""
    return file_source(path, judgment)


def qrels_folder(folder: Path) -> dict[str, Source[Judgment]]:
    """The sources of a folder with one file of judgments a split: `train.tsv`, `test.tsv.gz`, …"""
    files = {stem_and_format(path): path for path in sorted(folder.iterdir()) if path.is_file()}
    found = {stem: qrels_file(p) for (stem, form), p in files.items() if form in QRELS_FORMATS}
    if not found:
        names = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        raise DataError(f"{folder}: found {names}; expected judgments: train.tsv, test.tsv, …")
    return found


def judgment(line: bytes) -> Judgment | None:
    """Parse one line of a qrels file; None for a header."""
    text = decode(line)
    cells = text.split("\t") if "\t" in text else text.split()
    match [cell.strip() for cell in cells]:
        case [first, *_] if first in _HEADERS:
            return None
        case [query, document]:
            grade = "1"
        case [query, document, grade] | [query, _, document, grade]:
            pass
        case _:
            raise BadRecord("wrong columns", f"found {len(cells)} columns; {_EXPECTED}")
    try:
        return Judgment(query, document, int(grade))
    except ValueError:
        raise BadRecord("wrong columns", f"found {grade!r} as the grade; {_EXPECTED}") from None


_EXPECTED = "expected query, document, grade; or query, 0, document, grade; or query, document"


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Stream the `<top>` blocks, each with the number of its first line."""
    start, block = 0, list[bytes]()
    for number, line in numbered_lines(path):
        if line.lstrip().startswith(b"<top>"):
            start, block = number, []
        block.append(line)
        if b"</top>" in line:
            yield start or number, b"\n".join(block)
            start, block = 0, []  # or what is closed again and again would be read again and again


def _topic(block: bytes) -> Query:
    """The number and the title of a topic: the title is what a user would type."""
    text = decode(block)
    number, title = _NUMBER.search(text), _TITLE.search(text)
    if number is None or title is None:
        lacking = "<num>" if number is None else "<title>"
        raise BadRecord("wrong columns", f"a topic without {lacking}; expected <num> and <title>")
    return Query(number[1], " ".join(title[1].split()))
