"""`stdlib:`: the documentation of the Python standard library, with questions written by hand.

The documents are read from the running Python, so they differ between its versions. Questions name
their answers, in `stdlib_questions/`, one file a split, one JSON object a line:

    {"query": "merge two sorted lists", "documents": ["heapq.merge"]}

or, as query writers write them, with one "document". Names that this Python does not have are
skipped; `missing_names` lists them.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import orjson

from tsgen.artifact import hash_file, hash_strings
from tsgen.corpus.sources import Layout, Source, numbered_lines
from tsgen.corpus.table_files import Columns
from tsgen.errors import DataError
from tsgen.records import Document, Judgment, Query

T = TypeVar("T")
QUESTIONS = Path(__file__).with_name("stdlib_questions")
READER = Path(__file__).with_name("stdlib_objects.py")  # a script, run by a fresh interpreter


class Question(NamedTuple):
    """A question and the names of all objects that answer it."""

    id: str
    query: str
    documents: list[str]


def stdlib(name: str, columns: Columns | None) -> Layout:
    """The sources of the standard library's documents, and a split for each file of questions."""
    if name or columns:
        raise DataError(f"stdlib:{name}: there is only one such set; expected just stdlib:")
    files = sorted(QUESTIONS.glob("*.jsonl"))
    return Layout(
        Source("stdlib:", lambda: enumerate(stdlib_documents(), 1), _record, _fingerprint),
        [_source(path, _queries) for path in files],
        {path.stem: _source(path, _judgments) for path in files},
    )


@cache
def stdlib_documents() -> tuple[Document, ...]:
    """A document for each documented object; its dotted name is the id.

    A fresh interpreter reads the objects, as in this one other packages may have replaced some.
    """
    command = [sys.executable, "-I", "-S", str(READER)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise DataError(
            f"stdlib: {sys.executable} cannot read its own documentation; expected a complete "
            f"Python 3.11 or later. It says: {done.stderr.decode(errors='replace').strip()}"
        )
    return tuple(
        Document(name, text, title, {"kind": kind, "module": module})
        for name, title, kind, module, text in orjson.loads(done.stdout)
    )


def questions(path: Path) -> Iterator[tuple[int, Question]]:
    """Read the questions of a file, each with its line number, which is part of its id."""
    for number, line in numbered_lines(path):
        record = orjson.loads(line)
        names = record.get("documents") or [record["document"]]
        yield number, Question(f"{path.stem}:{number}", record["query"], names)


def missing_names(split: str) -> list[str]:
    """The answers to a split's questions that this Python does not have, in file order."""
    known = _names()
    names = (name for _, each in questions(QUESTIONS / f"{split}.jsonl") for name in each.documents)
    return list(dict.fromkeys(name for name in names if name not in known))


def _source(path: Path, read: Callable[[Path], Iterator[tuple[int, T]]]) -> Source[T]:
    return Source(str(path), lambda: read(path), _record, lambda: hash_file(path))


def _queries(path: Path) -> Iterator[tuple[int, Query]]:
    return ((number, Query(each.id, each.query)) for number, each in questions(path))


def _judgments(path: Path) -> Iterator[tuple[int, Judgment]]:
    known = _names()
    for number, each in questions(path):
        for name in each.documents:
            if name in known:
                yield number, Judgment(each.id, name)


def _record(record: T) -> T:
    """Return the record as it is: what was read needs no parsing."""
    return record


def _names() -> set[str]:
    return {document.id for document in stdlib_documents()}


def _fingerprint() -> str:
    """A hash of the documents' ids and texts, which depend on the Python version."""
    return hash_strings(*(part for each in stdlib_documents() for part in (each.id, each.contents)))
