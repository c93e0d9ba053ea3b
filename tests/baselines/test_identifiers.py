"""Codes from clusters: every document has its own, near ones share prefixes, clusters balance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.baselines._identifiers import (
    by_position,
    hierarchical_codes,
    leaf_size,
    unique_codes,
)
from tsgen.baselines.genret import _within_capacity, balanced_kmeans
from tsgen.baselines.pag import residual_codes
from tsgen.baselines.ultron import product_codes

RNG = np.random.default_rng(0)
FAR = np.repeat(np.eye(4, dtype=np.float32) * 10, 10, axis=0)  # four places, ten documents each
NEAR = FAR + RNG.normal(scale=0.01, size=FAR.shape).astype(np.float32)


def test_hierarchical_codes_are_unique_and_shared_by_neighbours() -> None:
    codes = hierarchical_codes(NEAR, clusters=4, leaf=5, seed=0)
    assert len({tuple(row) for row in codes}) == 40
    for start in range(0, 40, 10):
        assert len({row[0] for row in codes[start : start + 10]}) == 1
    assert len({row[0] for row in codes}) == 4
    rows = {tuple(row) for row in codes}
    assert not any(row[:n] in rows for row in rows for n in range(1, len(row)))  # no id in another
    assert max(row[-1] for row in codes) < 5


def test_documents_that_are_all_alike_are_dealt_out() -> None:
    codes = hierarchical_codes(np.ones((23, 3), np.float32), clusters=3, leaf=4, seed=0)
    assert len({tuple(row) for row in codes}) == 23


@pytest.mark.parametrize("code", [product_codes, residual_codes])
def test_quantised_codes_tell_places_apart(code: object) -> None:
    rows = code(NEAR, 2, 4, 0)  # type: ignore[operator]
    assert {len(row) for row in rows} == {2}
    heads = [{tuple(row) for row in rows[start : start + 10]} for start in range(0, 40, 10)]
    assert not set.intersection(*heads)


def test_leaf_of_a_small_set() -> None:
    assert [leaf_size(n, 100, 10) for n in (4, 30, 400, 10_000, 10**6)] == [10, 10, 20, 100, 100]


def test_equal_codes_are_numbered() -> None:
    assert unique_codes([[1, 2], [3, 4], [1, 2]]) == [[1, 2, 0], [3, 4], [1, 2, 1]]


def test_symbols_say_their_position() -> None:
    placed, names = by_position([[0, 2], [1]])
    assert (placed, names) == ([[0, 5], [1]], ["0:0", "0:1", "0:2", "1:0", "1:1", "1:2"])


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 7), st.integers(0, 9))
def test_no_cluster_is_over_full(count: int, clusters: int, seed: int) -> None:
    near = np.random.default_rng(seed).normal(size=(count, clusters)).astype(np.float32)
    label = _within_capacity(near)
    assert np.bincount(label, minlength=clusters).max() <= -(-count // clusters)
    room = -(-count // clusters)
    if room >= count:
        assert label.tolist() == near.argmax(axis=1).tolist()


def test_balanced_identifiers_split_a_crowd() -> None:
    crowd = np.concatenate((NEAR[:10], NEAR[:10] + 0.1, NEAR[10:12]))  # 20 here, 2 there
    sizes = np.bincount(balanced_kmeans(crowd, 2, 0), minlength=2)
    assert sizes.tolist() == [11, 11]
