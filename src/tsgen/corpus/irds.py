"""`irds:NAME`: the sets of ir_datasets, with the extra `datasets`."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tsgen.artifact import hash_strings
from tsgen.corpus.extra import library
from tsgen.corpus.sources import USUAL_SPLITS, Layout, Source
from tsgen.corpus.tables import Columns, Fields
from tsgen.errors import DataError, nearest
from tsgen.records import Document, Judgment, Query

T = TypeVar("T")


def irds(name: str, columns: Columns | None) -> Layout:
    """A set with judgments of its own is one split; of another, each set one level below it that
    has judgments is a split: `irds:beir/scifact` has train and test."""
    hub = library("ir_datasets", f"irds:{name}")
    try:
        whole = hub.load(name)
    except KeyError:
        raise DataError(f"irds:{name}: ir_datasets has no such set; {_hint(hub, name)}") from None
    if not whole.has_docs():
        raise DataError(f"irds:{name}: it has no documents; expected a set that has some.")
    columns = columns or Columns()
    judged = {split: (path, hub.load(path)) for split, path in _splits(hub, name).items()}
    return Layout(
        _source(name, whole.docs_iter, _document(Fields.of(columns)), columns.model_dump_json()),
        [_source(path, part.queries_iter, _query) for path, part in judged.values()],
        {s: _source(path, part.qrels_iter, _judgment) for s, (path, part) in judged.items()},
    )


def _hint(hub: Any, name: str) -> str:
    """The sets of the same family, or the names of the families."""
    family = [known for known in hub.registry if known.split("/")[0] == name.split("/")[0]]
    return nearest(name, family or {known.split("/")[0] for known in hub.registry})


def _splits(hub: Any, name: str) -> dict[str, str]:
    """Split → the name of the set that has its queries and judgments."""
    if hub.load(name).has_qrels():
        last = name.rpartition("/")[2]
        return {last if last in USUAL_SPLITS else "test": name}
    below = (path for path in hub.registry if path.rpartition("/")[0] == name)
    return {path.rpartition("/")[2]: path for path in below if hub.load(path).has_qrels()}


def _source(
    name: str, items: Callable[[], Iterable[Any]], make: Callable[[Any], T], *options: str
) -> Source[T]:
    return Source(
        name=f"irds:{name}",
        raw=lambda: enumerate(items(), start=1),
        make=make,
        digest=lambda: hash_strings("irds", name, *options),
        remote=True,
    )


def _document(fields: Fields) -> Callable[[Any], Document]:
    """Named fields where the set has the usual ones, else what it calls its default text."""

    def make(item: Any) -> Document:
        record = item._asdict()
        if not any(name in record for name in fields.text):
            record["text"] = item.default_text()
        return fields.document(record)

    return make


def _query(item: Any) -> Query:
    return Query(item.query_id, item.default_text())


def _judgment(item: Any) -> Judgment:
    return Judgment(item.query_id, item.doc_id, item.relevance)
