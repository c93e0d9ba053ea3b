"""MS MARCO folders, and NQ320K and MS300K in the same form: TSV files without a header.

`collection.tsv` (or `docs.tsv`, `msmarco-docs.tsv`), `queries.<split>.tsv`, `qrels.<split>.tsv`;
the document track's names (`msmarco-doctrain-queries.tsv`) are known too. Where the folder has a
file `docids.txt`, one id a line, only these documents and their judgments belong to it: MS300K.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tsgen.artifact import hash_file, hash_strings
from tsgen.corpus.sources import (
    BadRecord,
    Layout,
    Problems,
    Source,
    decode,
    file_source,
    find_file,
    first_line,
    stem_and_format,
)
from tsgen.corpus.table_files import Columns, document_table, id_and_text
from tsgen.corpus.trec import judgment
from tsgen.errors import DataError
from tsgen.records import Document, Judgment, Query

T = TypeVar("T")
LOOKS_LIKE = "collection.tsv or docs.tsv, queries.train.tsv and qrels.train.tsv (MS MARCO)"
IDS = "docids.txt"
_COLLECTIONS = ("collection.tsv", "docs.tsv", "msmarco-docs.tsv")
_QUERIES = re.compile(r"queries\.(?P<split>.+)|msmarco-doc(?P<track>\w+)-queries")
_QRELS = re.compile(r"qrels\.(?P<split>.+)|msmarco-doc(?P<track>\w+)-qrels")


def msmarco_folder(folder: Path, columns: Columns | None) -> Layout | None:
    """The sources of a folder in MS MARCO's form; None for any other folder."""
    collection = find_file(folder, *_COLLECTIONS)
    if collection is None:
        return None
    queries, qrels = dict(_splits(folder, _QUERIES)), dict(_splits(folder, _QRELS))
    own = _ids_clash(queries)
    layout = Layout(
        document_table(collection, columns) if columns else collection_file(collection),
        [file_source(path, _queries_of(split, own)) for split, path in queries.items()],
        {split: file_source(path, _judgments_of(split, own)) for split, path in qrels.items()},
    )
    ids_file = find_file(folder, IDS)
    return _restricted(layout, ids_file) if ids_file else layout


def collection_file(path: Path) -> Source[Document]:
    """Documents in a TSV file without a header; the number of columns says what they are."""
    width = len(first_line(path).split(b"\t"))
    if width not in (2, 3, 4):
        raise DataError(
            f"{path}:1: found {width} columns; expected 2 (id, text), 3 (id, title, text) or 4 "
            "(id, url, title, body; or id, title, abstract, content), with tabs between them."
        )
    return file_source(path, partial(_document, width))


def _document(width: int, line: bytes) -> Document:
    cells = decode(line).split("\t")
    if len(cells) != width:
        raise BadRecord("wrong columns", f"found {len(cells)} columns; expected {width}")
    name = cells[0].strip()
    if not name:
        raise BadRecord("missing id", "found nothing in the first column; expected an id")
    match cells:
        case [_, text]:
            return Document(name, text)
        case [_, url, title, body] if url.startswith(("http://", "https://")):
            return Document(name, body, title, {"url": url})
        case [_, title, *texts]:
            return Document(name, " ".join(texts).strip(), title)
    raise AssertionError(width)


def _restricted(layout: Layout, ids_file: Path) -> Layout:
    """Keep only the documents whose ids the file lists, and only judgments of these."""
    lines = file_source(ids_file, lambda line: decode(line).strip())
    ids = {name for _, name in lines.rows(Problems(skip_bad=False))}
    documents, qrels = layout.documents, layout.judgments
    return Layout(
        replace(
            _only(documents, lambda document: document.id in ids),
            digest=lambda: hash_strings(documents.digest(), hash_file(ids_file)),
        ),
        layout.queries,
        {split: _only(qrels[split], lambda pair: pair.document_id in ids) for split in qrels},
    )


def _only(source: Source[T], wanted: Callable[[T], bool]) -> Source[T]:
    def make(raw: Any) -> T | None:
        record = source.make(raw)
        return record if record is not None and wanted(record) else None

    return replace(source, make=make)


def _queries_of(split: str, own: bool) -> Callable[[bytes], Query]:
    def make(line: bytes) -> Query:
        query = id_and_text(line)
        return Query(f"{split}:{query.id}", query.text) if own else query

    return make


def _judgments_of(split: str, own: bool) -> Callable[[bytes], Judgment | None]:
    def make(line: bytes) -> Judgment | None:
        found = judgment(line)
        if found is None or not own:
            return found
        return Judgment(f"{split}:{found.query_id}", found.document_id, found.grade)

    return make


def _ids_clash(queries: dict[str, Path]) -> bool:
    """Whether two splits use the same id for different queries; then ids become `split:id`.

    The NQ320K release does: each of its files counts from 0.
    """
    texts: dict[str, int] = {}
    for path in queries.values():
        for _, query in file_source(path, id_and_text).rows(Problems(skip_bad=True)):
            if texts.setdefault(query.id, hash(query.text)) != hash(query.text):
                return True
    return False


def _splits(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[str, Path]]:
    """The files whose names match a pattern, each with the split in its name."""
    for path in sorted(folder.iterdir()):
        stem, form = stem_and_format(path)
        found = pattern.fullmatch(stem)
        if found and form == "tsv" and path.is_file():
            yield found["split"] or found["track"], path
