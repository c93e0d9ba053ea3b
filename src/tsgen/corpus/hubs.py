"""Data sets of hubs: `hf:NAME` or `hf:NAME:CONFIG` of Hugging Face, `irds:NAME` of ir_datasets.

Both need the extra `datasets`. What they download is kept by their own libraries.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from tsgen.artifact import hash_strings
from tsgen.corpus.sources import USUAL_SPLITS, BadRecord, Layout, Source
from tsgen.corpus.table_files import Columns, Fields, query_record
from tsgen.errors import DataError, MissingExtraError, nearest
from tsgen.records import Document, Judgment, Query

T = TypeVar("T")
Tables = Mapping[str, Any]
"""Split → rows, as `datasets.load_dataset` returns them; rows are dicts read from disk."""


def library(module: str, what: str) -> Any:
    """Import an optional library; an error names the command that installs it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(what, "datasets") from None


def hf(name: str, columns: Columns | None) -> Layout:
    """A data set of the Hugging Face hub.

    It is either in BEIR's form (configurations corpus and queries; judgments in the configuration
    qrels or default, or in the set NAME-qrels), or any table with the columns of a document.
    """
    hub = library("datasets", f"hf:{name}")
    columns = columns or Columns()
    path, _, config = name.partition(":")
    document = Fields.of(columns).document
    try:
        configs = [] if config else hub.get_dataset_config_names(path)
        if "corpus" not in configs:
            tables = hub.load_dataset(path, config or None)
            return Layout(_hf_source(name, _only_table(tables), document, columns))
        corpus, queries = (_only_table(hub.load_dataset(path, c)) for c in ("corpus", "queries"))
        qrels = _qrels(hub, path, configs)
    except (OSError, ValueError) as error:
        raise DataError(f"hf:{name}: cannot be loaded: {error}") from None
    return Layout(
        _hf_source(name, corpus, document, columns),
        [_hf_source(f"{name}/queries", queries, query_record)],
        {s: _hf_source(f"{name}/qrels/{s}", table, _hf_judgment) for s, table in qrels.items()},
    )


def _only_table(tables: Tables) -> Any:
    """The rows of the first split; a corpus has only one."""
    return next(iter(tables.values()))


def _qrels(hub: Any, path: str, configs: list[str]) -> Tables:
    config = next((c for c in ("qrels", "default") if c in configs), None)
    tables = hub.load_dataset(path, config) if config else hub.load_dataset(f"{path}-qrels")
    return dict(tables)


def _hf_source(
    name: str, table: Any, make: Callable[[dict[str, Any]], T], columns: Columns | None = None
) -> Source[T]:
    options = columns.model_dump_json() if columns else ""
    return Source(
        name=f"hf:{name}",
        raw=lambda: enumerate(table, start=1),
        make=make,
        digest=lambda: hash_strings("hf", name, table._fingerprint, options),
    )


def _hf_judgment(row: dict[str, Any]) -> Judgment:
    try:
        return Judgment(str(row["query-id"]), str(row["corpus-id"]), int(row["score"]))
    except (KeyError, TypeError, ValueError):
        raise BadRecord(
            "wrong columns", f"found {', '.join(row)}; expected query-id, corpus-id, score"
        ) from None


def irds(name: str, columns: Columns | None) -> Layout:
    """A data set of ir_datasets.

    A set with judgments of its own is one split; of any other set, each set one level below it that
    has judgments is a split: `irds:beir/scifact` has train and test.
    """
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
        _irds_source(
            name, whole.docs_iter, _document(Fields.of(columns)), columns.model_dump_json()
        ),
        [_irds_source(path, part.queries_iter, _query) for path, part in judged.values()],
        {
            s: _irds_source(path, part.qrels_iter, _irds_judgment)
            for s, (path, part) in judged.items()
        },
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


def _irds_source(
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
    """Read documents by the usual names of fields, or take the set's default text."""

    def make(item: Any) -> Document:
        record = item._asdict()
        if not any(name in record for name in fields.text):
            record["text"] = item.default_text()
        return fields.document(record)

    return make


def _query(item: Any) -> Query:
    return Query(item.query_id, item.default_text())


def _irds_judgment(item: Any) -> Judgment:
    return Judgment(item.query_id, item.doc_id, item.relevance)
