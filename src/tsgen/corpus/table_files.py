"""Documents and queries as records: JSON Lines, CSV (with quotes) and TSV (without)."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeVar

import orjson
from pydantic import BeforeValidator

from tsgen.config import StageConfig
from tsgen.corpus.input_limits import DEPTH, LINE, is_too_deep
from tsgen.corpus.sources import (
    BadRecord,
    Source,
    all_lines,
    check_decoded,
    decode,
    file_source,
    first_line,
    numbered_lines,
    stem_and_format,
)
from tsgen.errors import DataError
from tsgen.records import NO_METADATA, Document, Query

_END = "\ufdd0end of file\ufdd1"  # after the last line: characters that no text has

T = TypeVar("T")
JSON_FORMATS = ("jsonl", "ndjson", "json")
ID_NAMES = ("_id", "id", "docid", "doc_id", "docno", "pid")
TITLE_NAMES = ("title", "headline")
TEXT_NAMES = ("text", "contents", "body", "content", "passage")
QUERY_ID_NAMES = ("_id", "id", "qid", "query_id", "query-id")
QUERY_TEXT_NAMES = ("text", "query", "question", "title")

# A page can be longer than the 128 KiB that the csv module takes for one field.
csv.field_size_limit(LINE)

Names = Annotated[
    tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]


class Columns(StageConfig):
    """Which columns (keys, in JSON) make a document, where they do not have the usual names.

    `text` may be several columns, joined by a space. `metadata` names the columns to keep as such;
    without it, all others are kept. In a file without a header line, columns are named by their
    numbers: "1", "2" and so on.
    """

    id: str | None = None
    title: str | None = None
    text: Names = ()
    metadata: Names | None = None


@dataclass(frozen=True, slots=True)
class Fields:
    """The names of fields to look for in a record: those that the user named, or the usual ones."""

    id: Sequence[str]
    title: Sequence[str]
    text: Sequence[str]
    joined: Sequence[str] = ()  # several columns that together are the text
    metadata: Sequence[str] | None = None
    required: Sequence[str] = ()  # names by the user, which a table must have

    @classmethod
    def of(cls, columns: Columns) -> "Fields":
        """The names for documents: those of `columns`, else the usual ones."""
        single = [name for name in (columns.id, columns.title) if name]
        return cls(
            id=(columns.id,) if columns.id else ID_NAMES,
            title=(columns.title,) if columns.title else TITLE_NAMES,
            text=columns.text or TEXT_NAMES,
            joined=columns.text if len(columns.text) > 1 else (),
            metadata=columns.metadata,
            required=(*single, *columns.text, *(columns.metadata or ())),
        )

    def fit(self, names: Sequence[str]) -> bool:
        """Whether a table with these columns has an id, a text, and all columns that were named."""
        has_id = any(name in names for name in self.id)
        has_text = any(name in names for name in self.text)
        return has_id and has_text and all(name in names for name in self.required)

    def document(self, record: dict[str, Any]) -> Document:
        """Make a document of a record; `BadRecord` says what it lacks."""
        if not any(name in record for name in self.text):
            raise BadRecord("missing text", _lacks_text(record, self.text))
        name = _id(_take(record, self.id), self.id)
        title = _text(_take(record, self.title), "title")
        return Document(name, self._body(record), title, self._rest(record))

    def _body(self, record: dict[str, Any]) -> str:
        if self.joined:
            parts = (_text(record.pop(name, None), name) for name in self.joined)
            return " ".join(part for part in parts if part)
        return _text(_take(record, self.text), "text")

    def _rest(self, record: dict[str, Any]) -> Mapping[str, Any]:
        """The metadata: the other fields of the record, with those of a nested `metadata`."""
        nested = record.pop("metadata", None)
        if isinstance(nested, dict):
            record = {**record, **nested} if record else nested
        if self.metadata is not None:
            record = {name: record[name] for name in self.metadata if name in record}
        if is_too_deep(record, DEPTH + 1):
            raise BadRecord(
                "too deep", f"found metadata deeper than {DEPTH} lists and objects; expected less"
            )
        return record or NO_METADATA


QUERY_FIELDS = Fields(QUERY_ID_NAMES, (), QUERY_TEXT_NAMES)


def document_table(path: Path, columns: Columns | None = None) -> Source[Document]:
    """The source of documents in a JSONL, CSV or TSV file, with the usual or the named columns."""
    columns = columns or Columns()
    fields = Fields.of(columns)
    return _table(path, fields, fields.document, columns.model_dump_json())


def query_table(path: Path) -> Source[Query]:
    """The source of queries in a JSONL, CSV or TSV file; a TSV file may be just ids and texts."""
    has_names = stem_and_format(path)[1] in (*JSON_FORMATS, "csv")
    if not has_names and not QUERY_FIELDS.fit(_split_tabs(first_line(path))):
        return file_source(path, id_and_text)
    return _table(path, QUERY_FIELDS, query_record)


def id_and_text(line: bytes) -> Query:
    """Parse a query that is written as `id<TAB>text`."""
    name, tab, text = decode(line).partition("\t")
    if not tab or not name.strip():
        raise BadRecord("wrong columns", f"found {name[:60]!r}; expected an id, a tab, and a text")
    return Query(name.strip(), text.strip())


def json_object(line: bytes) -> dict[str, Any]:
    """Parse one line of a JSONL file, which must be an object."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        decode(line)  # the better message, if the bytes are the reason
        raise BadRecord("broken JSON", f"{error}; expected one JSON object a line") from None
    if not isinstance(record, dict):
        found = type(record).__name__
        raise BadRecord("broken JSON", f"found a {found}; expected one JSON object a line")
    return record


def query_record(record: dict[str, Any]) -> Query:
    """Make a query of a record; `BadRecord` says what it lacks."""
    if not any(name in record for name in QUERY_TEXT_NAMES):
        raise BadRecord("missing text", _lacks_text(record, QUERY_TEXT_NAMES))
    name = _id(_take(record, QUERY_ID_NAMES), QUERY_ID_NAMES)
    return Query(name, _text(_take(record, QUERY_TEXT_NAMES), "text"))


def _table(
    path: Path, fields: Fields, make: Callable[[dict[str, Any]], T], *options: str
) -> Source[T]:
    """The source of records in a file of any of the three formats."""
    form = stem_and_format(path)[1]
    if form in JSON_FORMATS:
        return file_source(path, lambda line: make(json_object(line)), *options)
    read = _csv_rows if form == "csv" else _tsv_rows
    header, names = _header(path, next(read(path), (1, []))[1], fields)

    def record(row: list[str]) -> T | None:
        if row == header:
            return None
        if len(row) != len(names):
            expected = f"{len(names)} ({', '.join(names)})"
            raise BadRecord("wrong columns", f"found {len(row)} columns; expected {expected}")
        return make(dict(zip(names, map(check_decoded, row), strict=True)))

    return file_source(path, record, *options, raw=read)


def _header(path: Path, first: list[str], fields: Fields) -> tuple[list[str] | None, list[str]]:
    """The header row, if there is one, and the columns' names."""
    names = [name.strip() for name in first]
    if fields.fit(names):
        return first, names
    numbers = [str(number) for number in range(1, len(first) + 1)]
    if fields.fit(numbers):
        return None, numbers
    raise DataError(
        f"{path}:1: the columns are {', '.join(names) or 'none'}; expected an id "
        f"({' or '.join(fields.id)}), a text ({' or '.join(fields.text)})"
        + (f" and {', '.join(fields.required)}" if fields.required else "")
        + ". Name them: columns=Columns(id=…, text=…), or [columns] in a data set's .toml file."
    )


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of their first line; a quoted field may go over several lines."""
    # Bad bytes pass here, to be reported with their row.
    lines = (line.decode("utf-8", "surrogateescape") for line in all_lines(path))
    rows = csv.reader(chain(lines, [_END]))
    start = 1
    try:
        for row in rows:
            if row and row[-1].endswith(_END):
                if row != [_END]:
                    raise DataError(
                        f"{path}:{start}: a quote that opens in this row is never closed, so that "
                        "all that follows would be its text; expected a closing quote. Correct it."
                    )
            elif row:
                yield start, row
            start = rows.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}:{start}: not readable as CSV: {error}") from None


def _tsv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    return ((number, _split_tabs(line)) for number, line in numbered_lines(path))


def _split_tabs(line: bytes) -> list[str]:
    return line.decode("utf-8", "surrogateescape").split("\t")


def _take(record: dict[str, Any], names: Sequence[str]) -> Any:
    for name in names:
        if name in record:
            return record.pop(name)
    return None


def _id(value: Any, names: Sequence[str]) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return value.strip()
    found = "nothing" if value is None else repr(value)[:60]
    raise BadRecord("missing id", f"found {found} as the id; expected it in {' or '.join(names)}")


def _text(value: Any, what: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    raise BadRecord(
        "wrong type", f"the {what} is a {type(value).__name__}; expected a string in quotes"
    )


def _lacks_text(record: Mapping[str, Any], names: Sequence[str]) -> str:
    return f"no text: found {', '.join(record) or 'nothing'}; expected {' or '.join(names)}"
