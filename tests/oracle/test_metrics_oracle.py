"""Our figures equal trec_eval's own, called directly, on random run files."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.corpus.runs import read_trec, write_trec
from tsgen.evaluate.metrics import evaluate
from tsgen.records import Hit, Judgments, Run

TREC_NAMES = {
    "R@1": "recall_1",
    "R@10": "recall_10",
    "R@100": "recall_100",
    "nDCG@10": "ndcg_cut_10",
}
DOCUMENTS = st.sampled_from([f"d{i}" for i in range(6)] + ["D", "é", "d", "日本"])
# Few values, so that ties are common; two that differ in double precision only.
TIED = st.sampled_from([0.0, 1.0, 1.0 + 1e-12, 1.5, -2.0, 16777217.0, 16777216.0])
RAW_RUNS = st.dictionaries(
    st.sampled_from([f"q{i}" for i in range(6)]),
    st.dictionaries(DOCUMENTS, st.one_of(TIED, st.floats(-50, 50)), min_size=1, max_size=8),
    min_size=1,
    max_size=4,
)
JUDGMENTS = st.dictionaries(
    st.sampled_from([f"q{i}" for i in range(2, 8)]),  # some missing in the run, some extra there
    st.dictionaries(DOCUMENTS, st.integers(-1, 4), min_size=1, max_size=5),
    min_size=1,
    max_size=4,
)
RawRun = dict[str, dict[str, float]]


def trec_eval(run: RawRun, judgments: Judgments) -> dict[str, dict[str, float]]:
    """Measure → query → value by trec_eval, over the queries that have a relevant document.

    trec_eval has no M@k: it is its reciprocal rank of the list cut at k. A query that is missing
    from the run counts as zero, as with its option -c.
    """
    judged = {id: grades for id, grades in judgments.items() if max(grades.values()) > 0}
    direct = pytrec_eval.RelevanceEvaluator(judged, {"recall.1,10,100", "ndcg_cut.10"})
    found = direct.evaluate(run)
    values = {ours: _filled(found, theirs, judged) for ours, theirs in TREC_NAMES.items()}
    for k in (10, 100):
        cut = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(_cut(run, k))
        values[f"M@{k}"] = _filled(cut, "recip_rank", judged)
    return values


def _filled(found: dict[str, dict[str, float]], name: str, judged: Judgments) -> dict[str, float]:
    return {id: found.get(id, {}).get(name, 0.0) for id in judged}


def _cut(run: RawRun, k: int) -> RawRun:
    """The first k documents in trec_eval's order: single precision, then the later id first."""
    best = {
        query: sorted(scores, key=lambda id: (np.float32(scores[id]), id), reverse=True)[:k]
        for query, scores in run.items()
    }
    return {query: {id: run[query][id] for id in ids} for query, ids in best.items()}


def as_file(folder: str, run: RawRun) -> Path:
    path = Path(folder) / "run.trec"
    lines = [
        f"{query} Q0 {id} 0 {score!r} tag\n"
        for query, scores in run.items()
        for id, score in scores.items()
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def assert_equal(run: Run, expected: dict[str, dict[str, float]], judgments: Judgments) -> None:
    scores = evaluate(run, judgments)
    assert set(scores.values) == set(expected)
    for name, by_query in expected.items():
        assert dict(zip(scores.query_ids, scores.values[name], strict=True)) == by_query, name
        assert scores.means[name] == pytest.approx(sum(by_query.values()) / len(by_query))


def overlap(run: RawRun, judgments: Judgments) -> bool:
    return any(max(grades.values()) > 0 and id in run for id, grades in judgments.items())


CASES = st.tuples(RAW_RUNS, JUDGMENTS).filter(lambda case: overlap(*case))


@settings(deadline=None, max_examples=200)
@given(CASES)
def test_a_run_file_scores_as_trec_eval_scores_it(case: tuple[RawRun, Judgments]) -> None:
    raw, judgments = case
    with TemporaryDirectory() as folder:
        run = read_trec(as_file(folder, raw))
    assert_equal(run, trec_eval(raw, judgments), judgments)


@settings(deadline=None, max_examples=100)
@given(CASES)
def test_a_retrievers_list_scores_as_strictly_decreasing_scores_do(
    case: tuple[RawRun, Judgments],
) -> None:
    raw, judgments = case  # the order of the dictionary is the retriever's, whatever the scores
    run = {query: [Hit(id, s) for id, s in scores.items()] for query, scores in raw.items()}
    strict = {query: {id: -float(i) for i, id in enumerate(s)} for query, s in raw.items()}
    assert_equal(run, trec_eval(strict, judgments), judgments)


@settings(deadline=None, max_examples=100)
@given(CASES)
def test_a_written_run_scores_the_same_in_trec_eval(case: tuple[RawRun, Judgments]) -> None:
    raw, judgments = case
    run = {query: [Hit(id, s) for id, s in scores.items()] for query, scores in raw.items()}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.trec"
        write_trec(path, run)
        fields = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    written: RawRun = {}
    for query, _, document, _, score, _ in fields:
        written.setdefault(query, {})[document] = float(score)
    assert_equal(run, trec_eval(written, judgments), judgments)


def test_long_lists_are_cut_where_trec_eval_cuts_them() -> None:
    rng = np.random.default_rng(3)
    ids = [f"d{i}" for i in range(300)]
    raw = {
        f"q{q}": dict(zip(ids, rng.integers(0, 90, 300).astype(float).tolist(), strict=True))
        for q in range(20)
    }
    judgments = {
        f"q{q}": {id: int(rng.integers(0, 3)) for id in rng.choice(ids, 9)} for q in range(20)
    }
    with TemporaryDirectory() as folder:
        run = read_trec(as_file(folder, raw))
    assert_equal(run, trec_eval(raw, judgments), judgments)
