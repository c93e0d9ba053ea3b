"""A folder of text files: each is a document, its path the id.

Files in folders inside it are read, too. Left out are hidden files and folders, and folders that
tsgen wrote: an engine may stand among its documents.
"""

import os
from functools import partial
from pathlib import Path

from tsgen.artifact import MANIFEST, hash_file, hash_strings, read_manifest
from tsgen.corpus.lines import all_lines, check_decoded, decode
from tsgen.corpus.problems import BadRecord
from tsgen.corpus.sources import Layout, Source
from tsgen.corpus.tables import Columns
from tsgen.corpus.text_file import SUFFIXES, parse
from tsgen.errors import ArtifactError, DataError
from tsgen.records import Document

LOOKS_LIKE = f"text files, {', '.join(SUFFIXES)}, also in folders inside it"


def text_folder(folder: Path, columns: Columns | None) -> Layout | None:
    """The source of a folder that has a text file."""
    if not text_files(folder):
        return None
    if columns is not None:
        raise DataError(f"{folder}: text files have no columns; leave the option out.")
    return Layout(
        Source(
            name=str(folder),
            raw=lambda: enumerate(text_files(folder).items(), 1),
            make=_document,
            digest=partial(_digest, folder),
        )
    )


def text_files(folder: Path) -> dict[str, Path]:
    """All text files below a folder by their relative paths, in the order of these."""
    found = {}
    for where, inside, names in os.walk(folder):
        inside[:] = [name for name in inside if _is_read(Path(where, name))]
        for path in (Path(where, name) for name in names if not name.startswith(".")):
            if path.suffix.lower() in SUFFIXES and path.is_file():
                found[path.relative_to(folder).as_posix()] = path
    return dict(sorted(found.items()))


def _is_read(folder: Path) -> bool:
    if folder.name.startswith("."):
        return False
    try:
        return not ((folder / MANIFEST).is_file() and read_manifest(folder))
    except ArtifactError:
        return True  # a manifest of something else


def _document(named: tuple[str, Path]) -> Document:
    name, path = named
    try:
        check_decoded(name)
    except BadRecord as bad:
        raise BadRecord(bad.kind, f"in the name of a file, {bad}") from None
    title, text = parse(_text(path), path.stem, path.suffix.lower())
    return Document(name, text, title)


def _text(path: Path) -> str:
    lines = []
    for number, line in enumerate(all_lines(path), 1):
        try:
            lines.append(decode(line))
        except BadRecord as bad:
            raise BadRecord(bad.kind, str(bad), (str(path), number)) from None
    return "".join(lines)


def _digest(folder: Path) -> str:
    """A hash of all names and contents."""
    files = text_files(folder).items()
    return hash_strings(*(part for name, path in files for part in (ascii(name), hash_file(path))))
