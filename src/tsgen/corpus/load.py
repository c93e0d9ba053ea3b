"""`load`: from a folder, a file or a name to a data set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field

from tsgen.artifact import hash_strings
from tsgen.config import StageConfig
from tsgen.corpus import beir, msmarco, nq320k, text_files
from tsgen.corpus.hubs import hf, irds
from tsgen.corpus.sources import Layout, SourcedDataSet, stem_and_format
from tsgen.corpus.stdlib import stdlib
from tsgen.corpus.table_files import JSON_FORMATS, Columns, document_table
from tsgen.corpus.trec import qrels_file, qrels_folder, query_file
from tsgen.errors import DataError
from tsgen.registry import Registry

QRELS = "qrels"
TABLES = (*JSON_FORMATS, "csv", "tsv")


@dataclass(frozen=True, slots=True)
class CorpusFormat:
    """A form in which data sets come: behind a name, `NAME:rest`, or as a folder that looks so.

    `open_name(rest, columns)` finds the sources of `NAME:rest`. `open_folder(folder, columns)`
    finds those of a folder, or returns None if the folder looks otherwise than `looks_like` says.
    """

    name: str
    open_name: Callable[[str, Columns | None], Layout] | None = None
    open_folder: Callable[[Path, Columns | None], Layout | None] | None = None
    looks_like: str = ""
    last: bool = False  # asked after all others, because it takes almost any folder


CORPORA: Registry[CorpusFormat] = Registry("corpus format", "tsgen.corpora")
for _format in (
    CorpusFormat("irds", open_name=irds),
    CorpusFormat("hf", open_name=hf),
    CorpusFormat("stdlib", open_name=stdlib),
    CorpusFormat("beir", open_folder=beir.beir_folder, looks_like=beir.LOOKS_LIKE),
    CorpusFormat("msmarco", open_folder=msmarco.msmarco_folder, looks_like=msmarco.LOOKS_LIKE),
    CorpusFormat("nq320k", open_folder=nq320k.nq320k_folder, looks_like=nq320k.LOOKS_LIKE),
    # Many a data set has a README, which is a text file.
    CorpusFormat("text", None, text_files.text_folder, text_files.LOOKS_LIKE, last=True),
):
    CORPORA.register(_format)


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
    form = _named_format(source)
    if form is not None and form.open_name is not None:
        return _versioned(form, form.open_name(str(source).partition(":")[2], columns))
    path = Path(source)
    if path.is_dir():
        return _folder(path, columns)
    if not path.is_file():
        raise DataError(f"{source}: no such file or folder; expected {_EXPECTED}")
    suffix = stem_and_format(path)[1]
    if suffix == "toml":
        return _described(path)
    if suffix not in TABLES:
        raise DataError(f"{source}: a file of an unknown format; expected {_EXPECTED}")
    return Layout(document_table(path, columns))


def _folder(folder: Path, columns: Columns | None) -> Layout:
    formats = sorted(CORPORA.all(), key=lambda form: form.last)
    for form in formats:
        if form.open_folder is not None and (layout := form.open_folder(folder, columns)):
            return _versioned(form, layout)
    known = (form.looks_like for form in formats if form.looks_like)
    raise DataError(
        f"{folder}: not a data set. Found: {_list(folder)}. "
        f"Expected one of: {'; '.join(known)}. All but text files may be .gz or .zst. "
        "For other names, give the documents file itself, or describe the set in a .toml file."
    )


def _named_format(source: str | Path) -> CorpusFormat | None:
    """The format whose name stands before a colon; None for a path."""
    name, colon, _ = str(source).partition(":")
    form = CORPORA.get(name) if colon and name in CORPORA.names() else None
    return form if form is not None and form.open_name is not None else None


def _versioned(form: CorpusFormat, layout: Layout) -> Layout:
    """A layout whose fingerprint changes with the code of a format that is not ours."""
    version, read = CORPORA.key(form).values(), layout.documents.digest
    if version:
        layout.documents = replace(layout.documents, digest=lambda: hash_strings(read(), *version))
    return layout


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
    if _named_format(source):
        form, _, name = str(source).partition(":")
        return (name or form).replace("/", "-").replace(":", "-")
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
