"""What is valid after each prefix among a batch and its negatives, against a slow twin."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from tsgen.arrays import offsets_of
from tsgen.constrain.constraint import Ragged
from tsgen.docids.term_set import TermSets
from tsgen.records import TermSet
from tsgen.train.examples import padded
from tsgen.train.objective import LOSSES, Negatives, valid_after

SYMBOLS = 8
NONE = np.empty((1, 0), np.int64)  # no hard ones
SETS = st.lists(
    st.lists(st.integers(0, SYMBOLS - 1), min_size=1, max_size=5, unique=True),
    min_size=1,
    max_size=6,
)


def ragged(rows: list[list[int]]) -> Ragged:
    offsets = offsets_of(np.array([len(row) for row in rows], np.int64))
    return Ragged(offsets, np.array([term for row in rows for term in row], np.int32))


def slow(targets: list[list[int]], others: list[list[int]], row: int, k: int) -> set[int]:
    """The terms of all documents that have the first k of a target, without these."""
    prefix = set(targets[row][:k])
    if not prefix:
        return set(range(SYMBOLS))
    return {term for one in targets + others if prefix <= set(one) for term in one} - prefix


@given(SETS, SETS, st.integers(1, 5))
def test_valid_after(targets: list[list[int]], others: list[list[int]], first: int) -> None:
    columns, mask = padded([np.array(target, np.int32) for target in targets])
    first = min(first, columns.shape[1])
    valid = valid_after(columns, mask, ragged(others), SYMBOLS, first)
    assert valid.shape == (len(targets), first, SYMBOLS)
    for row, target in enumerate(targets):
        for k in range(min(first, len(target))):
            assert set(np.flatnonzero(valid[row, k])) == slow(targets, others, row, k)


@given(SETS, SETS)
def test_losses_over_what_is_valid_are_finite(
    targets: list[list[int]], others: list[list[int]]
) -> None:
    columns, mask = padded([np.array(target, np.int32) for target in targets])
    valid = valid_after(columns, mask, ragged(others), SYMBOLS, columns.shape[1])
    for loss in LOSSES.values():
        scores = torch.zeros(valid.shape, requires_grad=True)
        masked = scores.masked_fill(~torch.from_numpy(valid), -torch.inf)
        value = loss(masked, torch.from_numpy(columns), torch.from_numpy(mask))
        value.backward()
        assert scores.grad is not None
        assert torch.isfinite(value)
        assert torch.isfinite(scores.grad).all()


def test_draws_documents_that_share_the_first_terms() -> None:
    rows = [("a", "b", "c"), ("a", "b", "d"), ("a", "e"), ("f", "g"), ("h",)]
    sets = TermSets.of(TermSet(str(i), row, (1.0,) * len(row)) for i, row in enumerate(rows))
    target = sets.terms(0)[None, :].astype(np.int64)
    rng = np.random.default_rng(0)
    drawn = [Negatives(sets, 0, 4).draw(target, NONE, rng) for _ in range(30)]
    assert set(np.concatenate(drawn).tolist()) == {0, 1, 2}
    assert Negatives(sets, 0, 0).draw(target, np.array([[4, 3]]), rng).tolist() == [3, 4]
    at_random = Negatives(sets, 200, 0)
    documents = at_random.draw(target, NONE, rng)
    assert documents.tolist() == [0, 1, 2, 3, 4]
    assert at_random.terms(documents).row(3).tolist() == sets.terms(3).tolist()


def test_targets_of_a_single_term() -> None:
    sets = TermSets.of([TermSet("x", ("a",), (1.0,)), TermSet("y", ("a", "b"), (1.0, 1.0))])
    target = sets.terms(0)[None, :].astype(np.int64)
    drawn = Negatives(sets, 0, 20).draw(target, NONE, np.random.default_rng(0))
    assert drawn.tolist() == [0, 1]
