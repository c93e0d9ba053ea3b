"""Evaluation of what is already there: a run file, or the folder of an engine or other system.

`tsgen evaluate` prints the table that `evaluate_source` returns. To fit several systems and compare
them see `tsgen.evaluate.compare`; the measures are defined in `tsgen.evaluate.metrics`.
"""

from dataclasses import replace
from itertools import chain
from pathlib import Path

from tsgen.corpus.dataset import DataSet, some_judged
from tsgen.corpus.in_memory import Documents, data_set_of
from tsgen.corpus.runs import read_run
from tsgen.errors import DataError
from tsgen.evaluate.compare import SystemComparison, query_groups
from tsgen.evaluate.metrics import ALL, DEPTH, Scores, evaluate_groups
from tsgen.evaluate.tables import Table
from tsgen.progress import show
from tsgen.records import Judgments, Run
from tsgen.retrieve.bench import run_queries
from tsgen.retrieve.systems import Searcher, open_retriever


def evaluate_source(
    source: Path | str | Searcher,
    data: Documents,
    *,
    split: str = "test",
    limit: int | None = None,
    title: str | None = None,
) -> Table:
    """Score a run file or a retriever on a split's judged queries; returns a table.

    The table has a row for all queries and, where the data set has training judgments, rows for
    seen and unseen ones (see `tsgen.corpus.splits`).

    Args:
        source: A TREC or MS MARCO run file, the folder of a saved retriever, or an open one.
        data: A data set, or a path or name that `tsgen.load` takes.
        split: The judgments to evaluate on.
        limit: Evaluate only so many of the judged queries, evenly spread.
        title: The caption of the table, by default the data set and the split.

    Examples:
        >>> print(tsgen.evaluate("runs/engine", "stdlib:", split="dev"))
    """
    data = data_set_of(data)
    name = Path(source).name if isinstance(source, str | Path) else type(source).__name__
    judgments = some_judged(data, split, limit)
    beyond_limit = data.judgments(split).keys() - judgments.keys()
    whole = _read_or_search(source, data, judgments)
    run = {id: hits for id, hits in whole.items() if id not in beyond_limit}
    scores = evaluate_groups(run, judgments, query_groups(data, split))
    _check_documents(source, data, run, scores[ALL])
    caption = title or f"{data.name}, {split}"
    result = SystemComparison(caption, DEPTH, limit, {name: scores}).table()
    return replace(result, notes={**result.notes, **_counts(scores[ALL])})


def _read_or_search(source: Path | str | Searcher, data: DataSet, judgments: Judgments) -> Run:
    """Read a run file, or search for the judged queries with a retriever."""
    if not isinstance(source, str | Path):
        return _searched(source, type(source).__name__, data, judgments)
    source = Path(source)
    if source.is_file():
        return read_run(source)
    if not source.is_dir():
        raise DataError(
            f"{source}: no such file or folder; expected a run file (TREC or MS MARCO) or the "
            "folder of a saved retriever. Check the path."
        )
    return _searched(open_retriever(source), source.name, data, judgments)


def _searched(searcher: Searcher, name: str, data: DataSet, judgments: Judgments) -> Run:
    """Search for the judged queries, showing progress."""
    queries = [data.queries()[id] for id in judgments]

    def watch(done: int) -> None:
        show(f"{name}: queries", done, len(queries))

    return run_queries(searcher, queries, DEPTH, watch)


def _check_documents(source: object, data: DataSet, run: Run, scores: Scores) -> None:
    """Refuse a run of other documents: nothing relevant is found, and no hit is of the data set."""
    if any(scores.means.values()):
        return
    hits = {hit.document_id for hit in chain.from_iterable(run.values())}
    if hits and hits.isdisjoint(document.id for document in data.documents()):
        raise DataError(
            f"{source}: none of its documents ({min(hits)!r}, for one) is in {data.name}; "
            "expected hits with that data set's document ids. Check that they belong together."
        )


def _counts(scores: Scores) -> dict[str, str]:
    """Notes on the queries that only the run or only the judgments have."""
    notes = {}
    if scores.unanswered:
        notes["without hits"] = f"{scores.unanswered:,} queries, counted as zero"
    if scores.unjudged:
        notes["not judged"] = f"{scores.unjudged:,} queries of the run, ignored"
    return notes
