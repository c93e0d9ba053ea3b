"""MS MARCO folders, and NQ320K and MS300K in the same form: TSV files without a header.

`collection.tsv` (or `docs.tsv`, `msmarco-docs.tsv`), `queries.<split>.tsv`, `qrels.<split>.tsv`;
the document track's names (`msmarco-doctrain-queries.tsv`) are known too; its dev queries are what
papers test on, so they are the split `test` here, and nothing that trains looks at them. Where the
folder has a file `docids.txt`, one id a line, only these documents and their judgments belong to
it: MS300K.

Ultron's release of MS300K has such lists (`msmarco-docids.rand.300k.txt`), files of identifiers
whose lines begin with an id in brackets (`[d1885729]`, a tab, codes), which will do as a list as
well, and synthetic queries for the documents (`msmarco_fake_query_10.txt`: an id in brackets, a
tab, a query). These, and the queries `doct5` of the TSGen authors' release, are the split
`synthetic`.

Where no split is called `test`, what papers test on, `dev.small` or `dev`, is.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Set
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
    numbered_lines,
    stem_and_format,
)
from tsgen.corpus.table_files import Columns, document_table, id_and_text
from tsgen.corpus.trec import judgment
from tsgen.errors import DataError
from tsgen.records import Document, Judgment, Query

T = TypeVar("T")
LOOKS_LIKE = "collection.tsv or docs.tsv, queries.train.tsv and qrels.train.tsv (MS MARCO)"
IDS, ULTRON_IDS = "docids.txt", re.compile(r"msmarco-docids\..+\.txt")
_BRACKETED = re.compile(r"\[(d\d+)\]", re.I)
_WRITTEN = re.compile(r"\w+_fake_query(?:_\d+)?\.txt")
SYNTHETIC = "synthetic"
DEV, DEV_SMALL, TEST = "dev", "dev.small", "test"
_TRACK = {DEV: TEST}  # of the document track: what everyone tests on
_OTHER_NAMES = {"doct5": SYNTHETIC}  # of splits, in the TSGen authors' release
_COLLECTIONS = ("collection.tsv", "docs.tsv", "msmarco-docs.tsv")
_QUERIES = re.compile(r"queries\.(?P<split>.+)|msmarco-doc(?P<track>\w+)-queries")
_QRELS = re.compile(r"qrels\.(?P<split>.+)|msmarco-doc(?P<track>\w+)-qrels")


def msmarco_folder(folder: Path, columns: Columns | None) -> Layout | None:
    """The sources of a folder in MS MARCO's form; None for any other folder."""
    collection = find_file(folder, *_COLLECTIONS)
    if collection is None:
        return None
    queries, qrels = dict(_splits(folder, _QUERIES)), dict(_splits(folder, _QRELS))
    names = _tested(qrels)
    queries = {names.get(split, split): path for split, path in queries.items()}
    qrels = {names.get(split, split): path for split, path in qrels.items()}
    own = _ids_clash(queries)
    layout = Layout(
        document_table(collection, columns) if columns else collection_file(collection),
        [file_source(path, _queries_of(split, own)) for split, path in queries.items()],
        {split: file_source(path, _judgments_of(split, own)) for split, path in qrels.items()},
    )
    ids_file, written = _ids_file(folder), _match(folder, _WRITTEN)
    ids = None if ids_file is None else listed_ids(ids_file)
    if ids is not None and ids_file is not None:
        layout = _restricted(layout, ids, ids_file)
    return layout if written is None else _with_written(layout, written, ids)


def listed_ids(path: Path) -> set[str]:
    """The document ids in a file, one a line; what follows a tab is not looked at, and `[d17]`
    means D17."""

    def listed(line: bytes) -> str:
        name = decode(line).split("\t")[0].strip()
        bracketed = _BRACKETED.fullmatch(name)
        return bracketed[1].upper() if bracketed else name

    ids = {name for _, name in file_source(path, listed).rows(Problems(skip_bad=False))}
    if not ids:
        raise DataError(f"{path}: no document ids in it; expected one a line, such as D1885729.")
    return ids


def _ids_file(folder: Path) -> Path | None:
    """The list of the documents that belong to the set, if the folder has one."""
    return find_file(folder, IDS) or _match(folder, ULTRON_IDS)


def _match(folder: Path, pattern: re.Pattern[str]) -> Path | None:
    """The one file whose name matches; several are an error."""
    found = [path for path in sorted(folder.iterdir()) if pattern.fullmatch(path.name)]
    if len(found) > 1:
        raise DataError(
            f"{folder}: found {', '.join(path.name for path in found)}; expected one such file. "
            f"Keep the one that is meant, or for a list of documents name it {IDS}."
        )
    return found[0] if found else None


def _with_written(layout: Layout, path: Path, ids: Set[str] | None) -> Layout:
    """Add the queries of a file with an id in brackets, a tab and a query a line, as the split
    `synthetic`; with `ids` those for other documents are left out."""

    def numbered(path: Path) -> Iterator[tuple[int, tuple[int, bytes]]]:
        return ((number, (number, line)) for number, line in numbered_lines(path))

    def pair(raw: tuple[int, bytes]) -> tuple[str, str, str] | None:
        number, line = raw
        name, tab, text = decode(line).partition("\t")
        bracketed = _BRACKETED.fullmatch(name.strip())
        if not (bracketed and tab and text.strip()):
            found = f"found {decode(line)[:60]!r}"
            raise BadRecord("wrong columns", f"{found}; expected [d17], a tab, and a query")
        document = bracketed[1].upper()
        known = ids is None or document in ids
        return (f"{SYNTHETIC}:{number}", document, text.strip()) if known else None

    def query(raw: tuple[int, bytes]) -> Query | None:
        found = pair(raw)
        return Query(found[0], found[2]) if found else None

    def judged(raw: tuple[int, bytes]) -> Judgment | None:
        found = pair(raw)
        return Judgment(found[0], found[1]) if found else None

    return Layout(
        layout.documents,
        [*layout.queries, file_source(path, query, raw=numbered)],
        {**layout.judgments, SYNTHETIC: file_source(path, judged, raw=numbered)},
    )


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


def _restricted(layout: Layout, ids: Set[str], ids_file: Path) -> Layout:
    """Keep only the documents whose ids the file lists, and only judgments of these."""
    documents, qrels = layout.documents, layout.judgments
    return Layout(
        replace(
            _only(documents, lambda document: document.id in ids),
            name=f"{documents.name}, restricted to the {len(ids):,} ids of {ids_file}",
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


def _tested(qrels: Mapping[str, Path]) -> dict[str, str]:
    """Other names for splits where none is called `test`: the judgments of MS MARCO's own test are
    not public, and papers test on `dev.small`, or else `dev`.

    So that one is called `test` here, and the `dev` that `dev.small` is a part of `dev.full`:
    no system validates on the queries that it is tested on.
    """
    if TEST in qrels:
        return {}
    if DEV_SMALL in qrels:
        return {DEV_SMALL: TEST, DEV: f"{DEV}.full"}
    return {DEV: TEST}


def _splits(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[str, Path]]:
    """The files whose names match a pattern, each with the split in its name."""
    for path in sorted(folder.iterdir()):
        stem, form = stem_and_format(path)
        found = pattern.fullmatch(stem)
        if found and form == "tsv" and path.is_file():
            split = found["split"] or _TRACK.get(found["track"], found["track"])
            yield _OTHER_NAMES.get(split, split), path
