"""M@10 as training computes it is the M@10 that ir-measures computes for tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsgen.evaluate.metrics import evaluate
from tsgen.reciprocal_rank import mean_reciprocal_rank, reciprocal_ranks
from tsgen.records import Hit


def test_ranks_beyond_the_first_ten_count_zero() -> None:
    assert reciprocal_ranks([1, 4, 10, 11, float("inf")]).tolist() == [1, 0.25, 0.1, 0, 0]


def test_without_queries_the_mean_is_zero() -> None:
    assert mean_reciprocal_rank([], []) == 0.0


rankings = st.lists(st.permutations(range(14)), min_size=1, max_size=5)


@given(rankings, st.sets(st.integers(0, 13), min_size=1))
def test_agrees_with_ir_measures(found: list[list[int]], relevant: set[int]) -> None:
    run = {f"q{i}": [Hit(str(d), -float(n)) for n, d in enumerate(row)]
           for i, row in enumerate(found)}  # fmt: skip
    judged = {id: {str(d): 1 for d in relevant} for id in run}
    expected = evaluate(run, judged).means["M@10"]
    assert mean_reciprocal_rank(found, [relevant] * len(found)) == pytest.approx(expected)
