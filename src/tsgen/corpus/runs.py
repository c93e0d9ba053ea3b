"""Run files, read and written, plain or compressed: TREC (query Q0 document rank score tag) and
MS MARCO (query document rank).

A TREC file is ranked exactly as trec_eval ranks it: by score in single precision, best first; equal
scores by document id, last in the alphabet first; the rank column is not looked at. An MS MARCO
file is ranked by its rank column. What is written is read back in the same order.
"""

import gzip
import math
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from tsgen.artifact import write_beside
from tsgen.corpus.sources import numbered_lines
from tsgen.errors import DataError
from tsgen.records import Hit, Run

TREC_COLUMNS = "query Q0 document rank score tag"
MSMARCO_COLUMNS = "query document rank"

Value = TypeVar("Value")


def read_run(path: Path) -> Run:
    """Read a run file of either kind, which the number of columns in its first line tells."""
    first = next(numbered_lines(path), None)
    if first is None:
        raise DataError(
            f"{path}: holds no hits; expected a TREC or MS MARCO run file. Check the path."
        )
    readers = {6: read_trec, 3: read_msmarco}
    columns = len(first[1].split())
    if columns not in readers:
        expected = f"6 (TREC: {TREC_COLUMNS}) or 3 (MS MARCO: {MSMARCO_COLUMNS})"
        _bad(path, first[0], f"{columns} columns", expected)
    return readers[columns](path)


def read_trec(path: Path) -> Run:
    """Read a TREC run file; queries come in the order of their first lines."""
    scored = _read(path, _parse_trec, TREC_COLUMNS)
    return {id: _as_trec_eval_ranks(documents) for id, documents in scored.items()}


def read_msmarco(path: Path) -> Run:
    """Read an MS MARCO run file; a query's ranks must be 1 to n, each once, in whatever order.

    A hit's score is 1 / rank, as the file has none.
    """
    ranked = _read(path, _parse_msmarco, MSMARCO_COLUMNS)
    return {id: _by_rank(path, id, ranks) for id, ranks in ranked.items()}


def write_trec(path: Path, run: Run, tag: str = "tsgen") -> None:
    """Write a TREC run file, complete or not at all.

    Where a list's scores are not strictly decreasing in single precision, the least change that
    makes them so keeps the list's order for every reader. White space in `tag` becomes hyphens.
    """
    tag = "-".join(tag.split())

    def lines(query_id: str, hits: list[Hit]) -> Iterator[str]:
        scores = _strictly_decreasing(query_id, hits).tolist()
        for rank, (hit, score) in enumerate(zip(hits, scores, strict=True), 1):
            yield f"{query_id} Q0 {hit.document_id} {rank} {score:.9g} {tag}\n"

    _write(path, run, lines)


def write_msmarco(path: Path, run: Run) -> None:
    """Write an MS MARCO run file, complete or not at all."""

    def lines(query_id: str, hits: list[Hit]) -> Iterator[str]:
        return (f"{query_id}\t{hit.document_id}\t{rank}\n" for rank, hit in enumerate(hits, 1))

    _write(path, run, lines)


def _read(
    path: Path, parse: Callable[[bytes], tuple[str, str, Value]], columns: str
) -> dict[str, dict[str, Value]]:
    """Parse every line: query → document → score or rank. A bad line raises `DataError`."""
    run: dict[str, dict[str, Value]] = {}
    for number, line in numbered_lines(path):
        try:
            query_id, document_id, value = parse(line)
        except ValueError as error:
            _bad(path, number, f"{line[:80]!r} ({error})", columns)
        documents = run.setdefault(query_id, {})
        if document_id in documents:
            found = f"document {document_id!r} again for query {query_id!r}"
            _bad(path, number, found, "each document once in a query's list")
        documents[document_id] = value
    return run


def _parse_trec(line: bytes) -> tuple[str, str, float]:
    # Split as bytes, as trec_eval does: only ASCII white space separates columns.
    query_id, _q0, document_id, _rank, text, _tag = line.split()
    score = float(text)
    if not math.isfinite(score):
        raise ValueError("the score is not a finite number")
    return query_id.decode(), document_id.decode(), score


def _parse_msmarco(line: bytes) -> tuple[str, str, int]:
    query_id, document_id, rank = line.split()
    return query_id.decode(), document_id.decode(), int(rank)


def _bad(path: Path, number: int, found: str, expected: str) -> NoReturn:
    raise DataError(f"{path}:{number}: found {found}; expected {expected}. Correct the line.")


def _as_trec_eval_ranks(documents: dict[str, float]) -> list[Hit]:
    scores = _single(list(documents.values()))
    hits = [Hit(id, score) for id, score in documents.items()]
    if (np.diff(scores) < 0).all():  # as in most files: nothing to sort
        return hits
    keys = list(zip(scores.tolist(), documents, strict=True))
    order = sorted(range(len(keys)), key=keys.__getitem__, reverse=True)
    return [hits[i] for i in order]


def _by_rank(path: Path, query_id: str, ranks: dict[str, int]) -> list[Hit]:
    for expected, id in enumerate(sorted(ranks, key=ranks.__getitem__), 1):
        if ranks[id] != expected:
            raise DataError(
                f"{path}: query {query_id!r}: document {id!r} has rank {ranks[id]}, expected "
                f"{expected}: a query's ranks go from 1 to n, each once. Number the list again."
            )
    return [Hit(id, 1 / rank) for id, rank in sorted(ranks.items(), key=itemgetter(1))]


def _strictly_decreasing(query_id: str, hits: list[Hit]) -> NDArray[np.float32]:
    """The scores in single precision, each one at least one step below the one before it."""
    scores = _single([hit.score for hit in hits])
    if not np.isfinite(scores).all():
        wrong = hits[int(np.argmin(np.isfinite(scores)))]
        raise DataError(
            f"query {query_id!r}: document {wrong.document_id!r} has the score {wrong.score}; "
            "a run file needs finite single-precision numbers. Check the retriever."
        )
    for i in range(1, len(scores)) if (np.diff(scores) >= 0).any() else ():
        scores[i] = min(scores[i], np.nextafter(scores[i - 1], np.float32(-np.inf)))
    return scores


def _single(scores: list[float]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # too large for single precision: infinite, as in trec_eval
        return np.array(scores).astype(np.float32)


def _write(path: Path, run: Run, lines: Callable[[str, list[Hit]], Iterator[str]]) -> None:
    with write_beside(path) as beside, beside.open("wb") as raw:
        # No name and no time in the header: equal runs give equal files.
        zipped = gzip.GzipFile("", "wb", 6, raw, mtime=0) if path.suffix == ".gz" else None
        with zipped or raw as file:
            for query_id, hits in run.items():
                _check_ids(query_id, hits)
                file.write("".join(lines(query_id, hits)).encode())


def _check_ids(query_id: str, hits: list[Hit]) -> None:
    """Refuse ids that are empty or have white space, which would shift the columns."""
    ids = [query_id.encode(), *(hit.document_id.encode() for hit in hits)]
    if b"\n".join(ids).split() != ids:
        wrong = next(id for id in ids if id.split() != [id])
        raise DataError(
            f"query {query_id!r}: the id {wrong.decode()!r} is empty or holds white space, which "
            "a run file cannot express. Rename it in the data set."
        )
