import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.constrain.kernels import fixed
from tsgen.constrain.valid_terms import (
    count_ones,
    has_bit,
    list_ones,
    lowest_one,
    make_bitmaps,
    popcount,
)

words = st.integers(0, 2**64 - 1)


@settings(deadline=None)
@given(words)
def test_ones_of_a_word(word: int) -> None:
    assert popcount(np.uint64(word)) == word.bit_count()
    if word:
        assert lowest_one(np.uint64(word)) == (word & -word).bit_length() - 1


@settings(deadline=None)
@given(st.sets(st.integers(0, 199)))
def test_a_bitmap_holds_its_row(members: set[int]) -> None:
    offsets = fixed(np.array([0, 1, 1 + len(members)]), np.int64)
    values = fixed(np.array([7, *sorted(members)]), np.int32)
    bitmaps = make_bitmaps(offsets, values, np.array([1], dtype=np.int32), 200)
    assert bitmaps.shape == (1, 4)
    assert [has_bit(bitmaps[0], i) for i in range(200)] == [i in members for i in range(200)]
    out = np.zeros(len(members) + 1, dtype=np.int32)
    assert list_ones(bitmaps[0], out, 1) == 1 + len(members) == 1 + count_ones(bitmaps[0])
    assert out[1:].tolist() == sorted(members)
