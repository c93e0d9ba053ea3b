"""`load`: from a folder, a file or a name to a data set."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import Field

from tsgen.config import StageConfig
from tsgen.corpus import beir, msmarco, nq320k
from tsgen.corpus import text_files as text_folder
from tsgen.corpus.hubs import hf, irds
from tsgen.corpus.sources import Layout, SourcedDataSet, stem_and_format
from tsgen.corpus.stdlib import stdlib
from tsgen.corpus.table_files import JSON_FORMATS, Columns, document_table
from tsgen.corpus.trec import qrels_file, qrels_folder, query_file
from tsgen.errors import DataError

QRELS = "qrels"
TABLES = (*JSON_FORMATS, "csv", "tsv")
HUBS: Mapping[str, Callable[[str, Columns | None], Layout]] = {
    "irds": irds,
    "hf": hf,
    "stdlib": stdlib,
}
FOLDERS: Mapping[str, Callable[[Path, Columns | None], Layout | None]] = {
    beir.LOOKS_LIKE: beir.beir_folder,
    msmarco.LOOKS_LIKE: msmarco.msmarco_folder,
    nq320k.LOOKS_LIKE: nq320k.nq320k_folder,
    text_folder.LOOKS_LIKE: text_folder.text_folder,  # the last: many a data set has a README
}


class DataFile(StageConfig):
    """A data set described in a TOML file, where its files have no usual names or places."""

    documents: str
    queries: list[str] = Field(default_factory=list)
    judgments: dict[str, str] = Field(default_factory=dict)
    columns: Columns | None = None


def load(
    source: str | Path,
    *,
    qrels: str = QRELS,
    columns: Columns | None = None,
    queries: Sequence[str | Path] = (),
    judgments: Mapping[str, str | Path] | None = None,
    skip_bad: bool = False,
) -> SourcedDataSet:
    """Open a data set: a folder, a documents file, a .toml file, `irds:NAME`, `hf:NAME`, `stdlib:`.

    `qrels` names another folder of judgments, inside the set's folder or anywhere. `columns` say
    what the columns of the documents mean; `queries` and `judgments` (split → file) come with a
    documents file. Nothing but headers is read yet: bad records raise `DataError` when they are
    met, or with `skip_bad` are left out and kept in the data set's `problems`.
    """
    layout = _layout(source, columns)
    if queries:
        layout.queries = [query_file(Path(path)) for path in queries]
    if judgments:
        layout.judgments = {split: qrels_file(Path(path)) for split, path in judgments.items()}
    if qrels != QRELS:
        layout.judgments = qrels_folder(_qrels_path(source, qrels))
    return SourcedDataSet(_name(source), layout, skip_bad=skip_bad)


def _layout(source: str | Path, columns: Columns | None) -> Layout:
    hub, colon, name = str(source).partition(":")
    if colon and hub in HUBS:
        return HUBS[hub](name, columns)
    path = Path(source)
    if path.is_dir():
        return _folder(path, columns)
    if not path.is_file():
        raise DataError(f"{source}: no such file or folder; expected {_EXPECTED}")
    form = stem_and_format(path)[1]
    if form == "toml":
        return _described(path)
    if form not in TABLES:
        raise DataError(f"{source}: a file of an unknown format; expected {_EXPECTED}")
    return Layout(document_table(path, columns))


def _folder(folder: Path, columns: Columns | None) -> Layout:
    for recognise in FOLDERS.values():
        if layout := recognise(folder, columns):
            return layout
    raise DataError(
        f"{folder}: not a data set. Found: {_list(folder)}. "
        f"Expected one of: {'; '.join(FOLDERS)}. All but text files may be .gz or .zst. "
        "For other names, give the documents file itself, or describe the set in a .toml file."
    )


def _described(path: Path) -> Layout:
    """The set that a TOML file describes; its paths are relative to the file."""
    described, here = DataFile.from_toml(path), path.parent
    documents, columns = here / described.documents, described.columns
    return Layout(
        _folder(documents, columns).documents
        if documents.is_dir()
        else document_table(documents, columns),
        [query_file(here / name) for name in described.queries],
        {split: qrels_file(here / name) for split, name in described.judgments.items()},
    )


def _qrels_path(source: str | Path, qrels: str) -> Path:
    inside = Path(source) / qrels
    for path in (inside, Path(qrels)):
        if path.is_dir():
            return path
    parent = inside.parent
    folders = (
        sorted(path.name for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []
    )
    raise DataError(
        f"{inside}: no such folder of judgments, and {qrels} is none either. "
        f"Folders in {source}: {', '.join(folders) or 'none'}."
    )


def _name(source: str | Path) -> str:
    hub, colon, name = str(source).partition(":")
    if colon and hub in HUBS:
        return (name or hub).replace("/", "-").replace(":", "-")
    path = Path(source).resolve()
    return path.name if path.is_dir() else stem_and_format(path)[0]


def _list(folder: Path, most: int = 10) -> str:
    names = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir())
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "nothing") + more


_EXPECTED = (
    "a data folder (BEIR, MS MARCO, NQ320K), a folder of text or Markdown files, a documents file "
    "(.jsonl, .csv, .tsv; plain, .gz or .zst), a .toml file that describes a set, irds:NAME, "
    "hf:NAME, or stdlib:. Check the path."
)
