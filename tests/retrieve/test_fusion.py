"""Several lists as one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsgen.records import Hit, Reason
from tsgen.retrieve.fusion import ScoreTable, fuse, tune

GENERATED = [Hit("a", -1.0), Hit("b", -2.0), Hit("c", -5.0)]
LEXICAL = [Hit("c", 30.0), Hit("d", 20.0), Hit("b", 10.0)]


def ids(hits: list[Hit]) -> list[str]:
    return [hit.document_id for hit in hits]


def test_reciprocal_ranks() -> None:
    hits = fuse([GENERATED, LEXICAL], (1, 1), "ranks", 10)
    assert ids(hits) == ["c", "b", "a", "d"]
    assert [hit.score for hit in hits] == pytest.approx(
        [1 / 63 + 1 / 61, 1 / 62 + 1 / 63, 1 / 61, 1 / 62]
    )


def test_standardised_scores() -> None:
    hits = fuse([GENERATED, LEXICAL], (1, 1), "scores", 10)
    assert ids(hits) == ["c", "a", "b", "d"]
    generated = [5 / 78**0.5 * 3**0.5, 2 / 78**0.5 * 3**0.5, -7 / 78**0.5 * 3**0.5]
    high = 1.5**0.5
    a, b, c = generated[0] - high, generated[1] - high, generated[2] + high
    assert [hit.score for hit in hits] == pytest.approx([c, a, b, generated[2]])


def test_weights_and_k() -> None:
    assert ids(fuse([GENERATED, LEXICAL], (0.9, 0.1), "scores", 2)) == ["a", "b"]
    assert ids(fuse([GENERATED, LEXICAL], (0.1, 0.9), "scores", 2)) == ["c", "d"]


def test_one_system_found_nothing_or_cannot_tell() -> None:
    assert ids(fuse([[], LEXICAL], (0.5, 0.5), "scores", 2)) == ["c", "d"]
    same = [Hit("x", 2.0), Hit("y", 2.0)]
    assert ids(fuse([same, LEXICAL], (0.5, 0.5), "scores", 5)) == ["c", "x", "y", "d", "b"]
    assert fuse([[], []], (0.5, 0.5), "ranks", 3) == []


def test_reasons_stay() -> None:
    reason = Reason(("bread",), (-0.1,), (1,))
    hits = fuse([[Hit("a", 1.0)], [Hit("a", 1.0, reason), Hit("b", 0.0)]], (1, 1), "ranks", 2)
    assert [hit.reason for hit in hits] == [reason, None]


scores = st.lists(st.integers(0, 3), min_size=0, max_size=6)


@given(
    scores,
    scores,
    st.sampled_from(["ranks", "scores", "gaps"]),
    st.sets(st.sampled_from("abcdefgh")),
)
def test_the_grid_ranks_as_fuse_does(
    first: list[int], second: list[int], values: str, relevant: set[str]
) -> None:
    lists = [
        [Hit(id, float(s)) for id, s in zip(names, sorted(found, reverse=True), strict=False)]
        for names, found in (("abcdef", first), ("hgfedc", second))
    ]
    grid = np.array([[0.0, 1.0], [0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
    found = ScoreTable.of(lists, values).reciprocal_ranks(relevant, grid)  # type: ignore[arg-type]
    for weights, value in zip(grid, found, strict=True):
        ranked = ids(fuse(lists, weights, values, 10))  # type: ignore[arg-type]
        ranks = [rank for rank, id in enumerate(ranked, 1) if id in relevant]
        assert value == (1 / ranks[0] if ranks else 0.0)


def test_beyond_the_tenth_rank_is_nothing() -> None:
    hits = [Hit(f"d{i:02}", -float(i)) for i in range(12)]
    table, one = ScoreTable.of([hits], "scores"), np.ones((1, 1))
    assert table.reciprocal_ranks({"d09"}, one) == [0.1]
    assert table.reciprocal_ranks({"d10"}, one) == [0.0]


def test_gaps() -> None:
    hits = fuse([GENERATED, LEXICAL], (1, 0.1), "gaps", 10)
    assert [(hit.document_id, hit.score) for hit in hits] == [
        ("a", pytest.approx(-2.0)), ("b", pytest.approx(-3.0)), ("c", -4.0), ("d", -5.0)
    ]  # fmt: skip
    alone = fuse([GENERATED, [Hit("e", 30.0)]], (1, 0.5), "gaps", 10)
    assert ids(alone) == ["e", "a", "b", "c"]  # the others are 30 behind


def test_tuned_weights_are_in_the_middle_of_the_best() -> None:
    table = ScoreTable.of([GENERATED, LEXICAL], "gaps")
    found = tune([table], [{"b"}], steps=10)
    ranks = [round(1 / found.figures[w / 10, (10 - w) / 10]) for w in range(11)]
    assert ranks == sorted(ranks, reverse=True)
    assert (ranks[0], ranks[-1]) == (4, 2)  # never first: a is before it
    best = [w for w in range(11) if ranks[w] == 2]
    assert found.shares[0] == pytest.approx(np.mean(best) / 10, abs=0.051)
    deviations = np.std([[0, -1, -4, -4], [-20, -20, 0, -10]], axis=1)
    assert found.weights == pytest.approx(found.shares / deviations)


def test_three_systems() -> None:
    third = [Hit("e", 1.0), Hit("a", 0.0)]
    tables = [ScoreTable.of([GENERATED, LEXICAL, third], "gaps")] * 2
    found = tune(tables, [{"e"}, {"e"}], steps=4)
    assert len(found.figures) == 15
    assert found.figures[found.shares] == 1.0
    assert found.shares[2] >= 0.5
