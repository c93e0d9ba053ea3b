"""Running a retriever over many queries, in pieces that can be watched."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from tsgen.records import Query, Run
from tsgen.retrieve.retriever import Retriever

PIECE = 256  # queries per call of `search`: enough for any system's own batches


def run_queries(
    retriever: Retriever,
    queries: Mapping[str, Query] | Iterable[Query],
    k: int,
    progress: Callable[[int], None] = lambda done: None,
) -> Run:
    """Search for every query, at most `k` hits each; `progress` hears how many are done."""
    wanted = list(queries.values() if isinstance(queries, Mapping) else queries)
    run: Run = {}
    for piece in _pieces(wanted):
        hits = retriever.search([query.text for query in piece], k)
        run.update(zip((query.id for query in piece), hits, strict=True))
        progress(len(run))
    return run


def _pieces(queries: Sequence[Query]) -> Iterable[Sequence[Query]]:
    return (queries[start : start + PIECE] for start in range(0, len(queries), PIECE))
