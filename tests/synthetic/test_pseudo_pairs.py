"""The stream of pairs and its random orders."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.errors import ConfigError, DataError
from tsgen.queries.pairs import Pair
from tsgen.records import Document
from tsgen.settings import PseudoQueryConfig
from tsgen.synthetic.pseudo_query import PseudoPairs, shuffled

DOCUMENTS = [
    Document(f"{i}", f"Text number {i} is about bread and butter.", f"T{i}") for i in range(10)
]
EXTRA = [Pair(f"asked {i}", i) for i in range(3)]
CONFIG = PseudoQueryConfig()


@settings(deadline=None)
@given(st.integers(1, 100), st.integers(0, 2**64 - 1))
def test_shuffled_is_a_permutation(size: int, key: int) -> None:
    assert sorted(shuffled(place, size, key) for place in range(size)) == list(range(size))


def test_orders_are_all_about_as_likely() -> None:
    orders = [tuple(shuffled(place, 3, key) for place in range(3)) for key in range(6000)]
    assert all(850 < orders.count(order) < 1150 for order in set(orders))
    assert len(set(orders)) == 6


def test_each_epoch_has_every_document_once_in_another_order() -> None:
    pairs = PseudoPairs(DOCUMENTS, CONFIG, seed=3)
    assert len(pairs) == 10
    first, second = ([pairs.pair(i).document for i in range(a, a + 10)] for a in (0, 10))
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second


def test_a_pair_depends_on_seed_and_number_alone() -> None:
    pairs = PseudoPairs(DOCUMENTS, CONFIG, seed=3)
    forward = [pairs.pair(i) for i in range(40)]
    backward = [PseudoPairs(DOCUMENTS, CONFIG, seed=3).pair(i) for i in reversed(range(40))]
    assert forward == backward[::-1]
    assert forward != [PseudoPairs(DOCUMENTS, CONFIG, seed=4).pair(i) for i in range(40)]
    assert len({pair.query for pair in forward}) > 20  # an epoch does not repeat the one before


def test_extra_pairs_have_their_share_and_their_own_epochs() -> None:
    pairs = PseudoPairs(DOCUMENTS, CONFIG, seed=0, extra=EXTRA, share=0.25)
    assert len(pairs) == 14
    stream = [pairs.pair(i) for i in range(40)]
    dealt = [pair for pair in stream if pair in EXTRA]
    assert len(dealt) == 10
    assert sorted(pair.document for pair in dealt[:3]) == [0, 1, 2]
    others = [pair.document for pair in stream if pair not in EXTRA]
    assert sorted(others) == sorted([*range(10)] * 3)


def test_a_share_of_no_pairs_is_none() -> None:
    pairs = PseudoPairs(DOCUMENTS, CONFIG, seed=0, share=0.5)
    assert len(pairs) == 10
    assert sorted(pairs.pair(i).document for i in range(10)) == list(range(10))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(DataError, match="no documents"):
        PseudoPairs([], CONFIG, seed=0)
    with pytest.raises(ConfigError, match=r"share = 1\.0"):
        PseudoPairs(DOCUMENTS, CONFIG, seed=0, extra=EXTRA, share=1.0)
