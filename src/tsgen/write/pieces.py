"""Work on many documents in pieces, each a JSONL file that is whole or not there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson

from tsgen.artifact import write_beside
from tsgen.progress import show

SIZE = 32  # documents a piece: what a killed run loses at the most

T = TypeVar("T")


def in_pieces(
    items: Iterable[T],
    work: Callable[[Sequence[T], int], Iterable[Any]],
    folder: Path,
    what: str,
) -> Iterator[Any]:
    """The rows that `work(piece, position of its first item)` gives for all items, in order.

    Pieces that `folder` has already are not worked on again.
    """
    for number, piece in enumerate(_slices(items)):
        show(what, number * SIZE)
        path = _path(folder, number)
        if not path.exists():
            write_lines(path, work(piece, number * SIZE))
        yield from read_lines(path)


def remove_pieces(folder: Path) -> None:
    """Remove the pieces, once what was made of them is written."""
    for path in folder.glob(_path(folder, "*").name):
        path.unlink()


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    """A JSON value a line, written beside and renamed."""
    with write_beside(path) as beside, beside.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def read_lines(path: Path) -> Iterator[Any]:
    """What `write_lines` wrote."""
    with path.open("rb") as file:
        yield from map(orjson.loads, file)


def _slices(items: Iterable[T]) -> Iterator[Sequence[T]]:
    rest = iter(items)
    while piece := list(islice(rest, SIZE)):
        yield piece


def _path(folder: Path, number: int | str) -> Path:
    name = number if isinstance(number, str) else f"{number:06}"
    return folder / f"piece-{name}.jsonl"
