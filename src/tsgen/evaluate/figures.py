"""The table of how many synthetic queries were written, left out and kept."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

from tsgen.corpus.dataset import DataSet, some_judged
from tsgen.corpus.runs import read_run
from tsgen.errors import DataError
from tsgen.evaluate.compare import SystemComparison, query_groups
from tsgen.evaluate.metrics import ALL, DEPTH, Scores, evaluate_groups
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.progress import show
from tsgen.records import Judgments, Run
from tsgen.retrieve.bench import run_queries
from tsgen.retrieve.systems import open_retriever
from tsgen.settings import QueriesConfig

# Figures for what is already there: a run file, or the folder of a saved retriever.


def evaluate_source(
    source: Path,
    data: DataSet,
    *,
    split: str = "test",
    limit: int | None = None,
    title: str | None = None,
) -> Table:
    """The figures of a TREC or MS MARCO run file, or of a saved retriever, on a split's queries.

    Rows: all queries; seen and unseen ones, where the data set's training judgments tell them
    apart. `limit` takes so many of the judged queries. `title` heads the table.
    """
    judgments = some_judged(data, split, limit)
    beyond_limit = data.judgments(split).keys() - judgments.keys()
    found = _run(source, data, judgments)
    run = {id: hits for id, hits in found.items() if id not in beyond_limit}
    scores = evaluate_groups(run, judgments, query_groups(data, split))
    _check_documents(source, data, run, scores[ALL])
    result = SystemComparison(
        title or f"{data.name}, {split}", DEPTH, limit, {source.name: scores}
    ).table()
    return replace(result, notes={**result.notes, **_counts(scores[ALL])})


def _run(source: Path, data: DataSet, judgments: Judgments) -> Run:
    if source.is_file():
        return read_run(source)
    if not source.is_dir():
        raise DataError(
            f"{source}: no such file or folder; expected a run file (TREC or MS MARCO) or the "
            "folder of a saved retriever. Check the path."
        )
    queries = [data.queries()[id] for id in judgments]

    def watch(done: int) -> None:
        show(f"{source.name}: queries", done, len(queries))

    return run_queries(open_retriever(source), queries, DEPTH, watch)


def _check_documents(source: Path, data: DataSet, run: Run, scores: Scores) -> None:
    """Where nothing relevant was found at all, make sure that the hits are of this data set."""
    if any(scores.means.values()):
        return
    found = {hit.document_id for hit in chain.from_iterable(run.values())}
    if found and found.isdisjoint(document.id for document in data.documents()):
        raise DataError(
            f"{source}: none of its documents ({min(found)!r}, for one) is in {data.name}; "
            "expected hits with that data set's document ids. Check that they belong together."
        )


def _counts(scores: Scores) -> dict[str, str]:
    """What a reader should know about queries that only one side has."""
    notes = {}
    if scores.unanswered:
        notes["without hits"] = f"{scores.unanswered:,} queries, counted as zero"
    if scores.unjudged:
        notes["not judged"] = f"{scores.unjudged:,} queries of the run, ignored"
    return notes


def counts_table(name: str, config: QueriesConfig, counts: Mapping[str, float]) -> Table:
    """One row: what became of the queries that were written."""
    names = [key.replace("_", " ") for key in counts]
    decimals = [1 if isinstance(value, float) else 0 for value in counts.values()]
    columns = [Column(*each) for each in zip(names, [None] * len(names), decimals, strict=True)]
    trip = f"document among {config.finder}'s first {config.keep_top}" if config.keep_top else "off"
    return Table(
        columns,
        [Row(config.writer, list(counts.values()))],
        caption=f"Synthetic queries for {name}, {config.n} a document",
        notes={"round trip": trip},
        label="writer",
    )
