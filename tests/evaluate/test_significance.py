"""Paired tests against hand-worked values and against scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test, ttest_rel

from tsgen.errors import DataError
from tsgen.evaluate.metrics import Scores
from tsgen.evaluate.significance import compare_with, holm, paired_t_test, randomisation_test

DIFFERENCES = st.lists(
    st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.1, 1 / 3, 0.5, 1.0]), min_size=2, max_size=9
)
EIGHTHS = st.lists(  # sums without rounding: scipy takes those that should tie for different
    st.integers(-8, 8).map(lambda n: n / 8), min_size=2, max_size=9
)


def scored(**values: float) -> Scores:
    return Scores(tuple(values), {"M@10": np.array(list(values.values()))}, 0, 0)


def test_t_test_by_hand() -> None:
    # d = 1, 2, 3: mean 2, sd 1, t = 2√3 = 3.464 with 2 degrees of freedom;
    # p = 1 − t / √(t² + 2) in that case.
    t = 2 * np.sqrt(3)
    assert paired_t_test(np.array([1.0, 2.0, 3.0])) == pytest.approx(1 - t / np.sqrt(t**2 + 2))


def test_randomisation_by_hand() -> None:
    # d = 1, 2, 3: of the 8 sign patterns only +++ and −−− reach |sum| = 6.
    assert randomisation_test(np.array([1.0, 2.0, 3.0]), seed=0) == 2 / 8
    # d = 1, 1, −1: every pattern reaches |sum| = 1.
    assert randomisation_test(np.array([1.0, 1.0, -1.0]), seed=0) == 1.0


@given(DIFFERENCES)
def test_t_test_equals_scipys(values: list[float]) -> None:
    d = np.array(values)
    if np.ptp(d) > 0:
        assert paired_t_test(d) == pytest.approx(ttest_rel(d + 1, np.ones_like(d)).pvalue, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(EIGHTHS)
def test_randomisation_over_all_patterns_equals_scipys(values: list[float]) -> None:
    d = np.array(values)
    exact = permutation_test((d,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert randomisation_test(d, seed=0) == pytest.approx(exact.pvalue)


def test_drawn_patterns_come_close_to_all_patterns() -> None:
    d = np.random.default_rng(1).normal(0.0, 1, 12)
    exact = randomisation_test(d, seed=0, permutations=2**12)
    drawn = randomisation_test(d, seed=0, permutations=2**12 - 1)
    assert 0.05 < exact < 0.5
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=0.03)


def test_the_seed_decides() -> None:
    d = np.random.default_rng(1).normal(0.1, 1, 50)
    ps = [randomisation_test(d, seed=seed, permutations=500) for seed in (5, 5, 6)]
    assert ps[0] == ps[1] != ps[2]


def test_a_clear_difference_is_never_p_zero_by_drawing() -> None:
    assert randomisation_test(np.ones(100), seed=0, permutations=999) == 1 / 1000


@pytest.mark.parametrize("values", [[0.0], [0.0] * 500])
def test_equal_values_give_one(values: list[float]) -> None:
    assert paired_t_test(np.array(values)) == 1.0
    assert randomisation_test(np.array(values), seed=0) == 1.0


def test_t_test_without_spread() -> None:
    assert paired_t_test(np.array([0.25, 0.25, 0.25])) == 0.0
    assert paired_t_test(np.array([0.25])) == 1.0


def test_holm_by_hand() -> None:
    # Sorted: .01 × 4 = .04; .02 × 3 = .06; .03 × 2 = .06; .9 × 1.
    assert holm([0.03, 0.01, 0.9, 0.02]) == pytest.approx([0.06, 0.04, 0.9, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.04]) == [0.04]
    assert holm([]) == []


def test_queries_are_aligned_by_id() -> None:
    reference = scored(q1=0.0, q2=0.5, q3=1.0)
    shuffled = scored(q3=1.0, q1=0.0, q2=0.5)
    (result,) = compare_with(reference, {"same": shuffled}, "M@10")
    assert (result.mean_difference, result.n, result.p, result.corrected_p) == (0.0, 3, 1.0, 1.0)
    assert not result.significant


@pytest.mark.parametrize("test", ["t", "randomisation"])
def test_several_systems_are_corrected_together(test: str) -> None:
    rng = np.random.default_rng(0)
    ids = [f"q{i}" for i in range(200)]
    reference = scored(**dict.fromkeys(ids, 0.5))
    better = scored(**dict(zip(ids, 0.5 + rng.normal(0.2, 0.3, 200), strict=True)))
    noise = scored(**dict(zip(ids, 0.5 + rng.normal(0.0, 0.3, 200), strict=True)))
    results = compare_with(
        reference,
        {"noise": noise, "better": better},
        "M@10",
        test=test,  # type: ignore[arg-type]
        seed=4,
    )
    assert [result.system for result in results] == ["noise", "better"]
    assert [result.significant for result in results] == [False, True]
    assert results[1].corrected_p == pytest.approx(2 * results[1].p)
    assert results[1].mean_difference == pytest.approx(0.2, abs=0.05)
    assert results[0].n == 200


def test_other_queries_are_an_error_that_names_them() -> None:
    with pytest.raises(
        DataError, match=r"only dense has 1 \(q9\), only the reference has 1 \(q2\)"
    ):
        compare_with(scored(q1=0, q2=0), {"dense": scored(q1=0, q9=0)}, "M@10")
