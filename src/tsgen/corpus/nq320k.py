"""NQ320K as GenRet releases it: JSON lists in which a document's id is its position.

`corpus_lite.json` is a list of texts; `train.json` and `dev.json` are lists of [query, position];
`train.json.qg.json` has synthetic queries in the same form. `dev.json` is what papers test on, so
it is the split `test` here; the synthetic queries are the split `synthetic` (docs/guides/data.md).
"""

import codecs
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tsgen.corpus.input_limits import LINE
from tsgen.corpus.sources import (
    BUFFER,
    DAMAGE,
    BadRecord,
    Layout,
    check_decoded,
    damaged,
    file_source,
    find_file,
    open_bytes,
)
from tsgen.corpus.table_files import Columns
from tsgen.errors import DataError
from tsgen.records import Document, Judgment, Query

LOOKS_LIKE = "corpus_lite.json, train.json and dev.json (NQ320K)"
FILES = {"train": "train.json", "test": "dev.json", "synthetic": "train.json.qg.json"}
_SEPARATORS = " \t\r\n,"
_ESCAPE = len("\\ud83d\\ude00")  # the longest thing that a cut can make look wrong
ITEM = LINE // 4  # characters: they may take four bytes each
_EXPECTED = "expected a JSON list: [ … , … ]"


def nq320k_folder(folder: Path, columns: Columns | None) -> Layout | None:
    """The sources of a folder in the release's form; None for any other folder."""
    corpus = find_file(folder, "corpus_lite.json")
    if corpus is None:
        return None
    if columns is not None:
        raise DataError(f"{corpus}: a list of texts has no columns; leave the option out.")
    files = {split: find_file(folder, name) for split, name in FILES.items()}
    pairs = {split: path for split, path in files.items() if path}
    return Layout(
        file_source(corpus, _document, raw=array_items),
        [file_source(p, partial(_query, s), raw=array_items) for s, p in pairs.items()],
        {s: file_source(p, partial(_judgment, s), raw=array_items) for s, p in pairs.items()},
    )


def array_items(path: Path) -> Iterator[tuple[int, Any]]:
    """Stream the items of a JSON list of strings or lists, reading the file in pieces.

    Yields (number, (number, item)), numbered from 1: the position of a record is its id.
    """
    decoder = json.JSONDecoder()
    pieces = _text_pieces(path)
    buffer, position, number = _list_start(path, next(pieces, "")), 0, 1
    while True:
        while position < len(buffer) and buffer[position] in _SEPARATORS:
            position += 1
        if buffer.startswith("]", position):
            return
        try:
            item, position = decoder.raw_decode(buffer, position)
        except (json.JSONDecodeError, RecursionError, ValueError) as error:
            if not isinstance(error, json.JSONDecodeError):
                found = "too deep" if isinstance(error, RecursionError) else "a huge number"
                raise DataError(f"{path}: item {number}: {found}; {_EXPECTED}") from None
            if len(buffer) - position > ITEM:
                raise DataError(
                    f"{path}: item {number}: longer than {ITEM:,} characters; {_EXPECTED}"
                ) from None
            more = next(pieces, None) if _is_cut_off(error, buffer) else None
            if more is None:
                raise DataError(f"{path}: item {number}: {error.msg}; {_EXPECTED}") from None
            buffer, position = buffer[position:] + more, 0
            continue
        yield number, (number, item)
        number += 1


def _list_start(path: Path, text: str) -> str:
    before, bracket, after = text.partition("[")
    if not bracket or before.strip():
        raise DataError(f"{path}:1: found {text[:20]!r}; {_EXPECTED}")
    return after


def _is_cut_off(error: json.JSONDecodeError, buffer: str) -> bool:
    """Whether an item failed to parse because the rest of it is not in the buffer yet."""
    return error.msg.startswith("Unterminated string") or error.pos >= len(buffer) - _ESCAPE


def _text_pieces(path: Path) -> Iterator[str]:
    # Bad bytes pass here, to be reported with their item.
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    with open_bytes(path) as file:
        try:
            while piece := file.read(BUFFER):
                yield decoder.decode(piece)
        except DAMAGE as error:
            raise damaged(str(path), error) from None


def _document(item: tuple[int, Any]) -> Document:
    number, text = item
    if not isinstance(text, str):
        raise BadRecord("wrong type", f"item {number} is a {type(text).__name__}; expected a text")
    return Document(str(number - 1), check_decoded(text))


def _query(split: str, item: tuple[int, Any]) -> Query:
    number, pair = item
    return Query(f"{split}:{number - 1}", _pair(pair)[0])


def _judgment(split: str, item: tuple[int, Any]) -> Judgment:
    number, pair = item
    return Judgment(f"{split}:{number - 1}", str(_pair(pair)[1]))


def _pair(value: Any) -> tuple[str, int]:
    match value:
        case [str(query), int(position)]:
            return check_decoded(query), position
    raise BadRecord("wrong columns", f"found {value!r:.60}; expected [query, document position]")
