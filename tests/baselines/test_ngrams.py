"""SEAL's scores, by hand and against the formula in plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import ngrams as slow
from oracle.decoding import ragged
from tsgen.baselines._ngrams import Ngrams, log_odds, ranked, weighed
from tsgen.constrain.ngrams import Suffixes

pieces = st.lists(st.lists(st.integers(0, 3), max_size=8), min_size=1, max_size=6)


def slices(suffixes: Suffixes, asked: list[slow.Ngram]) -> tuple[np.ndarray, ...]:
    low, high = suffixes.find(ragged(asked))
    return low, high, np.array([len(ngram) for ngram in asked])


def test_log_odds_by_hand() -> None:
    odds = log_odds(np.log([0.5, 0.5, 0.001]), np.array([0.5, 0.2, 0.5]))
    assert odds == pytest.approx([0.0, np.log(4), 0.0])
    assert np.isfinite(log_odds(np.array([0.0]), np.array([0.1]))).all()


def test_an_ngram_counts_once_and_not_if_it_says_nothing() -> None:
    suffixes = Suffixes.build(ragged([[1, 2, 1, 2, 1, 1, 1], [3]]), [0, 1])
    asked = [(3,), (1, 2), (3,), (1,), (2,)]
    log_prob = np.log([0.5, 0.5, 0.6, 0.3, 0.5])
    found = weighed(suffixes, *slices(suffixes, asked), log_prob, most=2)
    # [3] once with the larger p; [1] in five places is too frequent; [1, 2] and [2] are in two.
    assert np.exp(found.log_prob) == pytest.approx([0.6, 0.5, 0.5])
    assert found.weight == pytest.approx(np.log([1.5 * 7, 3, 3]))


def test_intersection_by_hand() -> None:
    """[1, 2] takes its place; [2, 3] overlaps it in the first document, not in the second; [2] is
    free in the first one's second half, but its token was said already."""
    rows = [[1, 2, 3, 2], [2, 3], [3]]
    suffixes = Suffixes.build(ragged(rows), [0, 1, 2])
    low, high, size = slices(suffixes, [(1, 2), (2, 3), (2,)])
    ngrams = Ngrams(low, high, size, np.log([0.5] * 3), np.array([3.0, 2.0, 1.0]))
    found = ranked(suffixes, ngrams, 5, alpha=2.0, beta=0.8)
    assert found.documents.tolist() == [0, 1]
    assert found.scores == pytest.approx([9 + 0.2, 4])
    assert [reason.tolist() for reason in found.reasons] == [[0, 2], [1]]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(pieces, st.data())
def test_agrees_with_the_formula(rows: list[list[int]], data: st.DataObject) -> None:
    owners = [number // 2 for number in range(len(rows))]
    every = slow.every(rows, 4)
    if not every:
        return
    asked = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=8, unique=True))
    weights = sorted(range(1, len(asked) + 1), reverse=True)
    suffixes = Suffixes.build(ragged(rows), owners)
    ngrams = Ngrams(*slices(suffixes, asked), np.zeros(len(asked)), np.array(weights, float))
    found = ranked(suffixes, ngrams, 10, alpha=1.5, beta=0.7)
    pairs = list(zip(asked, map(float, weights), strict=True))
    expected = slow.document_scores(rows, owners, pairs, 1.5, 0.7)
    assert dict(zip(found.documents.tolist(), found.scores, strict=True)) == pytest.approx(expected)
    assert found.scores.tolist() == sorted(found.scores, reverse=True)
