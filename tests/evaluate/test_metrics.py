"""Every measure against values worked out by hand."""

from math import log2

import numpy as np
import pytest

from tsgen.errors import DataError
from tsgen.evaluate.metrics import MEASURES, evaluate, evaluate_groups
from tsgen.records import Hit, Run


def ranking(*document_ids: str) -> list[Hit]:
    return [Hit(id, -float(rank)) for rank, id in enumerate(document_ids)]


def filled(*relevant: tuple[int, str], length: int = 100) -> list[Hit]:
    """A list of other documents with the given ones at the given ranks."""
    ids = [f"x{rank}" for rank in range(1, length + 1)]
    for rank, id in relevant:
        ids[rank - 1] = id
    return ranking(*ids)


def one(hits: list[Hit], grades: dict[str, int]) -> dict[str, float]:
    return evaluate({"q": hits}, {"q": grades}).means


def test_relevant_document_at_rank_three() -> None:
    means = one(ranking("x", "y", "a", "b"), {"a": 1, "c": 1})
    assert means == pytest.approx(
        {
            "M@10": 1 / 3,
            "M@100": 1 / 3,
            "R@1": 0.0,
            "R@10": 1 / 2,
            "R@100": 1 / 2,
            "nDCG@10": (1 / log2(4)) / (1 + 1 / log2(3)),
        }
    )


def test_every_relevant_document_first() -> None:
    means = one(ranking("a", "b", "x"), {"a": 1, "b": 1})
    expected = dict.fromkeys(MEASURES, 1.0) | {"R@1": 0.5}
    assert means == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rank", "m10", "m100", "r10", "r100"),
    [
        (10, 1 / 10, 1 / 10, 1, 1),
        (11, 0, 1 / 11, 0, 1),
        (100, 0, 1 / 100, 0, 1),
        (101, 0, 0, 0, 0),
    ],
)
def test_the_cuts(rank: int, m10: float, m100: float, r10: float, r100: float) -> None:
    means = one(filled((rank, "a"), length=101), {"a": 1})
    assert means["M@10"] == pytest.approx(m10)
    assert means["M@100"] == pytest.approx(m100)
    assert means["R@10"] == r10
    assert means["R@100"] == r100


def test_ndcg_uses_the_grades_and_recall_does_not() -> None:
    means = one(ranking("a", "b", "c"), {"a": 1, "b": 0, "c": 3, "d": 2, "e": -1})
    ideal = 3 / log2(2) + 2 / log2(3) + 1 / log2(4)
    assert means["nDCG@10"] == pytest.approx((1 / log2(2) + 3 / log2(4)) / ideal)
    assert means["R@10"] == pytest.approx(2 / 3)
    assert means["M@10"] == 1.0


def test_grades_of_zero_and_less_are_not_relevant() -> None:
    means = one(ranking("b", "e", "a"), {"a": 1, "b": 0, "e": -1})
    assert means["M@10"] == pytest.approx(1 / 3)
    assert means["R@1"] == 0.0
    assert means["nDCG@10"] == pytest.approx(1 / log2(4))


def test_the_order_of_the_list_counts_whatever_the_scores_say() -> None:
    hits = [Hit("a", 0.5), Hit("z", 0.5), Hit("y", 7.0)]
    assert one(hits, {"a": 1})["R@1"] == 1.0
    almost_equal = [Hit("a", 1.0 + 1e-12), Hit("z", 1.0)]  # equal in single precision
    assert one(almost_equal, {"a": 1})["R@1"] == 1.0


def test_a_query_without_hits_counts_as_zero() -> None:
    judgments = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    scores = evaluate({"q1": ranking("a"), "q2": []}, judgments)
    assert scores.query_ids == ("q1", "q2", "q3")
    for values in scores.values.values():
        np.testing.assert_array_equal(values, [1, 0, 0])
    assert scores.means["M@10"] == pytest.approx(1 / 3)
    assert scores.unanswered == 2


def test_a_run_without_any_hit_scores_zero() -> None:
    assert set(evaluate({"q": []}, {"q": {"a": 1}}).means.values()) == {0.0}


def test_queries_without_a_relevant_judgment_are_ignored_and_counted() -> None:
    run = {"q1": ranking("a"), "extra": ranking("a"), "q0": ranking("a")}
    scores = evaluate(run, {"q1": {"a": 1}, "q0": {"a": 0}})
    assert scores.query_ids == ("q1",)
    assert scores.means["M@10"] == 1.0
    assert scores.unjudged == 2


def test_groups_are_parts_of_the_same_values() -> None:
    judgments = {f"q{i}": {"a": 1} for i in range(4)}
    run: Run = {"q0": ranking("a"), "q1": ranking("x", "a"), "q2": ranking("a")}
    groups = {"seen": {"q1", "q3", "not judged"}, "unseen": {"q0", "q2"}, "empty": {"zz"}}
    rows = evaluate_groups(run, judgments, groups)
    assert list(rows) == ["all", "seen", "unseen"]
    assert rows["all"].means["M@10"] == pytest.approx(2.5 / 4)
    assert rows["seen"].query_ids == ("q1", "q3")
    assert rows["seen"].means["M@10"] == pytest.approx(0.5 / 2)
    assert rows["seen"].unanswered == 1
    assert rows["unseen"].means["M@10"] == 1.0
    assert rows["unseen"].unanswered == 0
    assert len(rows["all"]) == 4


def test_a_run_of_other_queries_is_an_error_that_shows_both() -> None:
    with pytest.raises(DataError, match=r"1 queries \(17\).*2 queries .*\(q1, q2\)"):
        evaluate({"17": ranking("a")}, {"q1": {"a": 1}, "q2": {"a": 1}})


def test_judgments_without_a_relevant_document_are_an_error() -> None:
    with pytest.raises(DataError, match="none of the 1 judged queries has a relevant document"):
        evaluate({"q": ranking("a")}, {"q": {"a": 0}})


def test_a_document_twice_in_a_list_is_an_error() -> None:
    with pytest.raises(DataError, match="query 'q': document 'b' is in the hits more than once"):
        evaluate({"q": ranking("a", "b", "c", "b")}, {"q": {"a": 1}})
