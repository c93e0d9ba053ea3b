"""Running a retriever over many queries, in pieces that can be watched, kept and gone on from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import orjson

from tsgen.artifact import write_beside
from tsgen.records import Hit, Query, Run
from tsgen.retrieve.retriever import Retriever

BATCH = 64  # queries per call of `search`: enough for a system's own batches, often enough to watch
PIECE = 256  # queries per file: what a killed run loses at the most

Progress = Callable[[int], None]
"""Called with the number of queries done."""


def _unwatched(_done: int) -> None:
    """No one looks."""


def run_queries(
    retriever: Retriever,
    queries: Mapping[str, Query] | Iterable[Query],
    k: int,
    progress: Progress = _unwatched,
) -> Run:
    """Search for every query, at most `k` hits each."""
    run: Run = {}
    for batch in _slices(_listed(queries), BATCH):
        hits = retriever.search([query.text for query in batch], k)
        run.update(zip((query.id for query in batch), hits, strict=True))
        progress(len(run))
    return run


def keep_run(
    retriever: Retriever,
    queries: Mapping[str, Query] | Iterable[Query],
    k: int,
    folder: Path,
    progress: Progress = _unwatched,
) -> None:
    """Like `run_queries`, into files of a folder; those already there are not searched again."""
    for number, piece in enumerate(_slices(_listed(queries), PIECE)):
        path = folder / f"hits-{number:06}.jsonl"
        if not path.exists():
            watch = partial(_watch_piece, progress, number * PIECE)
            _write(path, run_queries(retriever, piece, k, watch))


def _watch_piece(progress: Progress, before: int, done: int) -> None:
    progress(before + done)


def read_kept_run(folder: Path) -> Run:
    """What `keep_run` wrote, without the hits' reasons."""
    run: Run = {}
    for path in sorted(folder.glob("hits-*.jsonl")):
        for line in path.read_bytes().splitlines():
            query_id, hits = orjson.loads(line)
            run[query_id] = [Hit(document_id, score) for document_id, score in hits]
    return run


def _write(path: Path, run: Run) -> None:
    with write_beside(path) as beside, beside.open("wb") as file:
        for query_id, hits in run.items():
            row = [query_id, [[hit.document_id, hit.score] for hit in hits]]
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def _listed(queries: Mapping[str, Query] | Iterable[Query]) -> list[Query]:
    return list(queries.values() if isinstance(queries, Mapping) else queries)


def _slices(queries: Sequence[Query], size: int) -> Iterator[Sequence[Query]]:
    return (queries[start : start + size] for start in range(0, len(queries), size))
