"""`hf:NAME` or `hf:NAME:CONFIG`: data sets of the Hugging Face hub, with the extra `datasets`."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tsgen.artifact import hash_strings
from tsgen.corpus.extra import library
from tsgen.corpus.problems import BadRecord
from tsgen.corpus.sources import Layout, Source
from tsgen.corpus.tables import Columns, Fields, query_record
from tsgen.errors import DataError
from tsgen.records import Judgment

T = TypeVar("T")
Tables = Mapping[str, Any]
"""Split → rows, as `datasets.load_dataset` returns them; rows are dicts read from disk."""


def hf(name: str, columns: Columns | None) -> Layout:
    """A set in BEIR's form on the hub (configurations corpus and queries, judgments in default,
    qrels or in NAME-qrels), or any table with the columns of a document."""
    hub = library("datasets", f"hf:{name}")
    columns = columns or Columns()
    path, _, config = name.partition(":")
    document = Fields.of(columns).document
    try:
        configs = [] if config else hub.get_dataset_config_names(path)
        if "corpus" not in configs:
            tables = hub.load_dataset(path, config or None)
            return Layout(_source(name, _only_table(tables), document, columns))
        corpus, queries = (_only_table(hub.load_dataset(path, c)) for c in ("corpus", "queries"))
        qrels = _qrels(hub, path, configs)
    except (OSError, ValueError) as error:
        raise DataError(f"hf:{name}: cannot be loaded: {error}") from None
    return Layout(
        _source(name, corpus, document, columns),
        [_source(f"{name}/queries", queries, query_record)],
        {s: _source(f"{name}/qrels/{s}", table, _judgment) for s, table in qrels.items()},
    )


def _only_table(tables: Tables) -> Any:
    """The rows of the first split: a corpus has one."""
    return next(iter(tables.values()))


def _qrels(hub: Any, path: str, configs: list[str]) -> Tables:
    config = next((c for c in ("qrels", "default") if c in configs), None)
    tables = hub.load_dataset(path, config) if config else hub.load_dataset(f"{path}-qrels")
    return dict(tables)


def _source(
    name: str, table: Any, make: Callable[[dict[str, Any]], T], columns: Columns | None = None
) -> Source[T]:
    options = columns.model_dump_json() if columns else ""
    return Source(
        name=f"hf:{name}",
        raw=lambda: enumerate(table, start=1),
        make=make,
        digest=lambda: hash_strings("hf", name, table._fingerprint, options),
    )


def _judgment(row: dict[str, Any]) -> Judgment:
    try:
        return Judgment(str(row["query-id"]), str(row["corpus-id"]), int(row["score"]))
    except (KeyError, TypeError, ValueError):
        raise BadRecord(
            "wrong columns", f"found {', '.join(row)}; expected query-id, corpus-id, score"
        ) from None
