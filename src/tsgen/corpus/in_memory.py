"""Data sets from Python objects: lists of texts, of dicts or of Documents, and data frames.

`data_set_of` also takes what `load` takes, so that every function of the package accepts documents
in any of these forms.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import orjson

from tsgen.artifact import hash_strings
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.corpus.sources import BadRecord, Layout, Source, SourcedDataSet
from tsgen.corpus.table_files import ID_NAMES, Columns, Fields
from tsgen.errors import DataError
from tsgen.records import Document, Judgment, Query


class DataFrame(Protocol):
    """The part of a pandas DataFrame that is read."""

    columns: Any

    def to_dict(self, orient: Any) -> Any:
        """One dict for each row, if `orient` is "records"."""
        ...


Item: TypeAlias = str | Mapping[str, Any] | Document
Documents: TypeAlias = str | Path | DataSet | DataFrame | Iterable[Item]
"""A path or name that `load` takes, a data set, a pandas DataFrame, or any iterable of texts, of
dicts or of `Document`s."""

Grades: TypeAlias = Mapping[str, Mapping[str, int]]
"""Query id → document id → grade."""

T = TypeVar("T")
NAME = "documents"  # of a data set that has no file to be named after
_FIELDS = Fields.of(Columns())
_EXPECTED = "expected a text, a dict with a text, or a tsgen.Document"
_MISSING = ("NAType", "NaTType")  # what pandas writes where a cell is empty, beside NaN


def data_set_of(
    source: Documents,
    *,
    queries: Mapping[str, str] | None = None,
    judgments: Grades | None = None,
    validation: Grades | None = None,
) -> DataSet:
    """Open documents in any form as a data set, with these queries and judgments if given.

    Args:
        source: A path or name that `tsgen.load` takes, a data set, a pandas DataFrame, or any
            iterable of texts, dicts or Documents; an iterator is read once and held in memory.
        queries: Query id → text. In place of the queries that come with the source.
        judgments: Query id → {document id: grade} to train on, as the split `train`.
        validation: The same for choosing the best weights, as the split `dev`.
    """
    found = _opened(source)
    if queries is None and judgments is None and validation is None:
        return found
    if queries is None:
        queries = {query.id: query.text for query in found.queries().values()}
    splits: dict[str, Grades] = {name: found.judgments(name) for name in found.splits}
    splits |= {n: g for n, g in (("train", judgments), ("dev", validation)) if g is not None}
    layout = Layout(
        _documents_source(found.name, found.documents, lambda: found.fingerprint),
        [_source("queries", [_query(id, text) for id, text in queries.items()])],
        {name: _graded(name, grades) for name, grades in splits.items()},
    )
    return SourcedDataSet(found.name, layout)


def documents_of(source: Documents, new_ids: Iterator[str] | None = None) -> Iterator[Document]:
    """The documents of a source in any form, one after the other.

    Args:
        source: As for `data_set_of`.
        new_ids: The ids of documents that come without one; by default 0, 1, 2, ….
    """
    if isinstance(source, str | Path):
        return _named(source).documents()
    if _is_data_frame(source):
        return _from_items(_rows(source), new_ids or map(str, count()))
    if _is_data_set(source):
        return cast(DataSet, source).documents()
    if isinstance(source, Mapping | Document | bytes) or not isinstance(source, Iterable):
        raise DataError(
            f"found {_described(source)}; expected a list of texts, of dicts or of Documents, a "
            "data set, a DataFrame, or the path of one. Put a single document into a list."
        )
    return _from_items(source, new_ids or map(str, count()))


def _opened(source: Documents) -> DataSet:
    """The source as a data set; documents that come from no file are read and checked at once."""
    if isinstance(source, str | Path):
        return _named(source)
    if not _is_data_frame(source) and _is_data_set(source):
        return cast(DataSet, source)
    found = list(documents_of(source))
    _check(found)
    return SourcedDataSet(
        NAME, Layout(_documents_source(NAME, lambda: iter(found), lambda: _digest(found)))
    )


def _named(source: str | Path) -> DataSet:
    """The data set behind a path or a name; a text in place of a path is told from a mistyped
    path."""
    try:
        return load(source)
    except (DataError, OSError) as error:
        if isinstance(source, str) and any(map(str.isspace, source)) and not Path(source).exists():
            raise DataError(
                f"found the str {source[:60]!r}, which is no file, folder or name of a data set; "
                "expected one of these, or a list. Put a single text into a list: [text]."
            ) from None
        raise error


def _is_data_set(source: object) -> bool:
    return callable(getattr(source, "documents", None)) and hasattr(source, "fingerprint")


def _is_data_frame(source: object) -> bool:
    return hasattr(source, "columns") and callable(getattr(source, "to_dict", None))


def _rows(frame: Any) -> Iterator[dict[str, Any]]:
    """The rows of a data frame without their empty cells."""
    for row in frame.to_dict("records"):
        yield {str(name): value for name, value in row.items() if not _is_missing(value)}


def _is_missing(value: object) -> bool:
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in _MISSING


def _from_items(items: Iterable[Item], new_ids: Iterator[str]) -> Iterator[Document]:
    """Items of one kind as documents; an item of another kind is an error."""
    first: type | None = None
    for place, item in enumerate(items):
        kind = next((kind for kind in (str, Mapping, Document) if isinstance(item, kind)), None)
        if kind is None:
            raise DataError(f"item {place}: found {_described(item)}; {_EXPECTED}.")
        first = first or kind
        if kind is not first:
            before = {str: "texts", Document: "Documents"}.get(first, "dicts")
            raise DataError(
                f"item {place}: found {_described(item)} among {before}; expected items of one "
                "kind. Make all of them dicts, or all Documents."
            )
        yield _document(item, place, new_ids)


def _document(item: Item, place: int, new_ids: Iterator[str]) -> Document:
    if isinstance(item, Document):
        return item
    if isinstance(item, str):
        return Document(next(new_ids), item)
    record = dict(item)
    if not any(name in record for name in ID_NAMES):
        record["_id"] = next(new_ids)
    try:
        return _FIELDS.document(record)
    except BadRecord as bad:
        raise DataError(f"item {place}: {bad}.") from None


def _check(documents: Sequence[Document]) -> None:
    """Refuse a list without documents, an empty document, and two documents of the same id."""
    if not documents:
        raise DataError("found no documents, an empty list; expected at least one.")
    places: dict[str, int] = {}
    for place, document in enumerate(documents):
        if not (document.text.strip() or document.title.strip()):
            raise DataError(
                f"item {place}: document {document.id!r} has neither text nor title; expected one "
                "of them. Leave the document out."
            )
        if places.setdefault(document.id, place) != place:
            raise DataError(
                f"item {place}: the id {document.id!r} is that of item {places[document.id]}, too; "
                "expected ids that differ."
            )


def _query(id: str, text: object) -> Query:
    if not isinstance(text, str):
        raise DataError(f"query {id!r}: found {_described(text)}; expected its text.")
    return Query(str(id), text)


def _graded(split: str, grades: Grades) -> Source[Judgment]:
    """The judgments of a split as a source."""
    rows = []
    for query, documents in grades.items():
        if not isinstance(documents, Mapping):
            raise DataError(
                f"judgments of query {query!r}: found {_described(documents)}; expected a dict of "
                "document id → grade, e.g. {'doc42': 1}."
            )
        rows += [Judgment(str(query), str(id), int(grade)) for id, grade in documents.items()]
    return _source(f"judgments of {split}", rows)


def _documents_source(
    name: str, documents: Callable[[], Iterator[Document]], digest: Callable[[], str]
) -> Source[Document]:
    return Source(name, lambda: enumerate(documents()), lambda record: record, digest)


def _source(name: str, records: Sequence[T]) -> Source[T]:
    return Source(name, lambda: enumerate(iter(records)), lambda record: record, lambda: name)


def _digest(documents: Iterable[Document]) -> str:
    """A hash of all that the documents say."""

    def plain(value: Any) -> Any:
        return dict(value.items()) if hasattr(value, "items") else str(value)

    rows = ([one.id, one.title, one.text, dict(one.metadata)] for one in documents)
    options = orjson.OPT_NON_STR_KEYS
    try:
        return hash_strings(*(orjson.dumps(row, plain, options).decode() for row in rows))
    except TypeError as error:  # lone surrogates, integers of over 64 bits, a circle
        raise DataError(
            f"the documents cannot be written as JSON ({error}); expected text in valid Unicode "
            "and metadata of strings, numbers, true, false, null, lists and objects."
        ) from None


def _described(value: object) -> str:
    """The type of a value and its beginning, for a message."""
    shown = repr(value)
    return f"a {type(value).__name__} ({shown[:60]}{'…' if len(shown) > 60 else ''})"
