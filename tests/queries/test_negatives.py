"""Pairs with hard negatives: batches from (seed, step), and which documents stand against whom."""

import numpy as np

from tsgen.queries.negatives import ContrastiveSet
from tsgen.queries.pairs import Pair

PAIRS = [Pair(f"query {i}", i) for i in range(5)]
NEGATIVES = np.array([[1, 2, 3], [0, 4, 5], [0, 0, 0], [0, 0, 0], [0, 0, 0]])


def test_in_batch_negatives_leave_out_right_documents() -> None:
    one, batch = ContrastiveSet(PAIRS, NEGATIVES), np.array([0, 1])
    assert one.documents(batch).tolist() == [0, 1, 1, 2, 3, 0, 4, 5]
    allowed = one.allowed(batch, in_batch=True)
    assert allowed[0].tolist() == [True, True, True, True, True, False, True, True]
    assert allowed[1].tolist() == [True, True, False, True, True, True, True, True]


def test_without_them_each_query_has_its_own() -> None:
    allowed = ContrastiveSet(PAIRS, NEGATIVES[:, :2]).allowed(np.array([3, 4]), in_batch=False)
    assert allowed.astype(int).tolist() == [[1, 0, 1, 1, 0, 0], [0, 1, 0, 0, 1, 1]]


def test_all_answers_of_a_query_are_right() -> None:
    pairs = [Pair("same", 0), Pair("same", 1), Pair("other", 2)]
    one = ContrastiveSet(pairs, np.array([[3], [3], [1]]))
    allowed = one.allowed(np.array([0, 2]), in_batch=True)  # documents 0 2 3 1
    assert allowed.astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]


def test_an_epoch_has_every_pair_once_in_an_order_of_its_own() -> None:
    one = ContrastiveSet(PAIRS, NEGATIVES)
    epochs = [
        np.concatenate([one.batch(step, 2, seed=1) for step in range(first, first + 3)])
        for first in (0, 3)
    ]
    assert one.steps(2) == 3
    assert [sorted(epoch.tolist()) for epoch in epochs] == [[0, 1, 2, 3, 4]] * 2
    assert epochs[0].tolist() != epochs[1].tolist()
