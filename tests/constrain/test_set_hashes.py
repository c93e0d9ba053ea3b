import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.constrain.kernels import first_equal, member_keys


def test_a_set_has_one_key_whatever_the_order() -> None:
    numbers = member_keys(np.array([3, 5, 900_000]))
    assert np.array_equal(numbers.sum(axis=0), numbers[[2, 0, 1]].sum(axis=0))
    assert numbers.dtype == np.uint64


def test_small_sets_have_different_keys() -> None:
    numbers = member_keys(np.arange(200))
    rows, columns = np.triu_indices(200)
    pairs = numbers[rows] + numbers[columns]
    assert len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1])) == len(pairs)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3))))
def test_first_equal(rows: list[tuple[int, int]]) -> None:
    keys = np.array(rows, dtype=np.uint64).reshape(-1, 2)
    assert first_equal(keys).tolist() == [rows.index(row) for row in rows]
