"""Targets: orders, spellings, padding and buckets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tsgen.docids.spelling import subwords, words
from tsgen.docids.term_set import TermSets
from tsgen.records import TermSet
from tsgen.train.examples import Targets, at_random, batches, weight_order

# Terms by number: bread 0, egg 1, salt 2, white 3.
SETS = TermSets.of(
    [
        TermSet("d0", ("white", "bread"), (2.0, 1.0)),
        TermSet("d1", ("salt", "egg", "bread"), (3.0, 2.0, 1.0)),
    ]
)
PIECES = {"bread": [1, 2], "egg": [3], "salt": [4], "white": [5]}
END = 9
RNG = np.random.default_rng(0)


def test_weight_order_by_words() -> None:
    targets = Targets(words(4), weight_order(SETS, [1, 0]))
    tokens, mask = targets.batch(np.array([0, 1]), ["", ""], RNG)
    assert tokens[0].tolist() == [2, 1, 0]
    assert tokens[1, :2].tolist() == [3, 0]
    assert mask.tolist() == [[True, True, True], [True, True, False]]
    assert targets.lengths().tolist() == [3, 2]


def test_weight_order_by_subwords() -> None:
    spelling = subwords(list(SETS.vocabulary), lambda terms: [PIECES[t] for t in terms], END)
    targets = Targets(spelling, weight_order(SETS, [0, 1]))
    tokens, mask = targets.batch(np.array([0, 1]), ["", ""], RNG)
    assert tokens[0][mask[0]].tolist() == [5, END, 1, 2, END]
    assert tokens[1].tolist() == [4, END, 3, END, 1, 2, END]
    assert targets.lengths().tolist() == [5, 7]


def test_shuffled_orders_differ_and_keep_the_set() -> None:
    targets = Targets(words(4), weight_order(SETS, [1]), at_random)
    drawn = {tuple(targets.batch(np.array([0]), [""], RNG)[0][0].tolist()) for _ in range(50)}
    assert drawn == {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}


@given(st.lists(st.integers(1, 30), min_size=1, max_size=300), st.integers(1, 7), st.integers(0, 9))
def test_batches_hold_every_row_once(lengths: list[int], size: int, seed: int) -> None:
    cut = batches(np.array(lengths), size, np.random.default_rng(seed))
    assert sorted(np.concatenate(cut).tolist()) == list(range(len(lengths)))
    assert len(cut) == -(-len(lengths) // size)
    assert max(map(len, cut)) <= size


def test_batches_hold_similar_lengths() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, 512)
    spans = [np.ptp(lengths[rows]) for rows in batches(lengths, 8, np.random.default_rng(1))]
    assert np.mean(spans) < 3  # of random batches about 77
