import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.constrain.kernels import fixed
from tsgen.constrain.valid_terms import intersect, intersects, search

few = st.sets(st.integers(0, 300), max_size=8)
numbers = st.one_of(few, st.sets(st.integers(0, 300), max_size=200))


def ascending(values: set[int]) -> np.ndarray:
    return fixed(np.array(sorted(values), dtype=np.int32), np.int32)


@settings(deadline=None)
@given(numbers, numbers)
def test_common_numbers(a: set[int], b: set[int]) -> None:
    out = np.full(min(len(a), len(b)) + 3, -1, dtype=np.int32)
    end = intersect(ascending(a), ascending(b), out, 2)
    assert out[2:end].tolist() == sorted(a & b)
    assert intersects(ascending(a), ascending(b)) == bool(a & b)


@settings(deadline=None)
@given(numbers, st.integers(-1, 301), st.integers(0, 20))
def test_search_finds_the_first_place(values: set[int], wanted: int, start: int) -> None:
    array = ascending(values)
    start = min(start, len(array))
    expected = max(start, int(np.searchsorted(array, wanted)))
    assert search(array, wanted, start) == expected
