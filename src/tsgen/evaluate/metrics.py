"""The paper's measures, by ir-measures: M@10, M@100, R@1, R@10, R@100 and nDCG@10.

A hit list's order is the ranking, whatever its scores say: documents are handed over with the
scores n, n-1, …, 1. (trec_eval holds scores in single precision and breaks ties by document id, so
a retriever's own scores could change the order.) A judged query without hits counts as zero.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import ir_measures
import numpy as np
from ir_measures import RR, R, nDCG
from ir_measures.providers import FallbackProvider
from numpy.typing import NDArray

from tsgen.errors import DataError
from tsgen.records import Hit, Judgments, Run

MEASURES = {
    "M@10": RR @ 10,
    "M@100": RR @ 100,
    "R@1": R @ 1,
    "R@10": R @ 10,
    "R@100": R @ 100,
    "nDCG@10": nDCG @ 10,
}
"""A table's column name → the measure of ir-measures that it stands for."""

DEPTH = 100
"""The deepest rank that any measure looks at."""

ALL = "all"
"""The group of every judged query."""

# Named here, because the default pipeline takes whichever providers happen to be installed.
_PROVIDERS = FallbackProvider(  # type: ignore[no-untyped-call]
    [ir_measures.pytrec_eval, ir_measures.msmarco]
)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of a run on each judged query, and on average."""

    query_ids: tuple[str, ...]
    values: Mapping[str, NDArray[np.float64]]  # measure → one value per query, as in `query_ids`
    unanswered: int  # judged queries without a hit: they count as zero
    unjudged: int  # queries of the run without a relevant judgment: they count for nothing

    def __len__(self) -> int:
        return len(self.query_ids)

    @property
    def means(self) -> dict[str, float]:
        """The mean of each measure over the queries."""
        return {name: float(values.mean()) for name, values in self.values.items()}


def evaluate(run: Run, judgments: Judgments) -> Scores:
    """Score a run on the queries that have a relevant judgment (grade ≥ 1), in judgment order.

    M@k = mean of 1 / rank of the first relevant document within the top k, else 0.
    R@k = mean of (relevant documents within the top k) / (all relevant documents of the query).
    nDCG@k = mean of DCG / ideal DCG with gains g / log2(rank + 1), g the grade, as in trec_eval.
    """
    judged = _with_relevant(judgments)
    if not run.keys() & judged.keys():
        raise DataError(_no_overlap(run, judged))
    answered = {id: _rank_scores(id, run[id]) for id in judged if run.get(id)}
    values = _per_query(answered, judged)
    return Scores(
        tuple(judged), values, len(judged) - len(answered), sum(id not in judged for id in run)
    )


def evaluate_groups(
    run: Run, judgments: Judgments, groups: Mapping[str, Collection[str]]
) -> dict[str, Scores]:
    """Score a run on all queries and on groups of them (seen, unseen, …).

    Ids of a group that are not judged are left out, and so is a group that has no judged query.
    """
    scores = evaluate(run, judgments)
    parts = {name: _only(scores, set(ids), run) for name, ids in groups.items()}
    return {ALL: scores} | {name: part for name, part in parts.items() if len(part)}


def mean_scores(runs: Sequence[Scores]) -> Scores:
    """The scores of several runs of the same queries, averaged query by query."""
    first = runs[0]
    values = {name: np.mean([run.values[name] for run in runs], axis=0) for name in first.values}
    return replace(first, values=values, unanswered=max(run.unanswered for run in runs))


def deviations(runs: Sequence[Scores]) -> dict[str, float]:
    """The standard deviation of each measure's mean over several runs (with n − 1)."""
    means = [run.means for run in runs]
    return {name: float(np.std([one[name] for one in means], ddof=1)) for name in means[0]}


def _with_relevant(judgments: Judgments) -> Judgments:
    judged = {id: grades for id, grades in judgments.items() if max(grades.values(), default=0) > 0}
    if not judged:
        raise DataError(
            f"none of the {len(judgments)} judged queries has a relevant document; "
            "expected judgments with a grade of 1 or more. Check the judgments or the split."
        )
    return judged


def _rank_scores(query_id: str, hits: list[Hit]) -> dict[str, float]:
    """Document id → score, strictly decreasing in the order of the list."""
    top = hits[:DEPTH]
    scores = {hit.document_id: float(len(top) - i) for i, hit in enumerate(top)}
    if len(scores) < len(top):
        ids = [hit.document_id for hit in top]
        twice = next(id for id in ids if ids.count(id) > 1)
        raise DataError(
            f"query {query_id!r}: document {twice!r} is in the hits more than once; "
            "expected each document once. Remove the duplicates from the run."
        )
    return scores


def _per_query(
    ranked: Mapping[str, Mapping[str, float]], judged: Judgments
) -> dict[str, NDArray[np.float64]]:
    row = {id: i for i, id in enumerate(judged)}
    values = {measure: np.zeros(len(judged)) for measure in MEASURES.values()}
    evaluator = _PROVIDERS.evaluator(MEASURES.values(), judged)
    for metric in evaluator.iter_calc(ranked):
        values[metric.measure][row[metric.query_id]] = metric.value
    return {name: values[measure] for name, measure in MEASURES.items()}


def _only(scores: Scores, ids: Collection[str], run: Run) -> Scores:
    """The scores of those of the queries whose ids are given."""
    rows = [i for i, id in enumerate(scores.query_ids) if id in ids]
    query_ids = tuple(scores.query_ids[i] for i in rows)
    values = {name: column[rows] for name, column in scores.values.items()}
    return Scores(query_ids, values, sum(not run.get(id) for id in query_ids), scores.unjudged)


def _no_overlap(run: Run, judged: Judgments) -> str:
    return (
        f"none of the run's {len(run)} queries ({_some(run)}) is among the {len(judged)} "
        f"queries with relevant judgments ({_some(judged)}); expected the same query ids in both. "
        "Check that the run belongs to this data set and split."
    )


def _some(ids: Iterable[str]) -> str:
    first = list(islice(ids, 4))
    return ", ".join(first[:3] + ["…"] * (len(first) > 3))
