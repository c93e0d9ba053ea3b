"""Both losses by hand."""

import numpy as np
import pytest
import torch

from tsgen.train.objective import any_remaining_loss, seq2seq_loss

# Two targets over four symbols: (2, 0, 1), and (3, 1) with one place of padding.
P = np.array(
    [
        [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.7, 0.1, 0.1, 0.1]],
        [[0.2, 0.2, 0.1, 0.5], [0.25, 0.25, 0.25, 0.25], [0.9, 0.05, 0.03, 0.02]],
    ]
)
SCORES = torch.from_numpy(np.log(P) + 7)  # a softmax does not see the shift
TARGETS = torch.tensor([[2, 0, 1], [3, 1, 0]])
MASK = torch.tensor([[True, True, True], [True, True, False]])


def test_seq2seq() -> None:
    expected = -np.log([0.3, 0.4, 0.1, 0.5, 0.25]).mean()
    assert seq2seq_loss(SCORES, TARGETS, MASK).item() == pytest.approx(expected)


def test_any_remaining_term_is_right() -> None:
    expected = -np.log([0.1 + 0.2 + 0.3, 0.4 + 0.3, 0.1, 0.2 + 0.5, 0.25]).mean()
    assert any_remaining_loss(SCORES, TARGETS, MASK).item() == pytest.approx(expected)


def test_of_the_first_tokens_only() -> None:
    first = SCORES[:, :1]
    assert seq2seq_loss(first, TARGETS, MASK).item() == pytest.approx(-np.log([0.3, 0.5]).mean())
    expected = -np.log([0.1 + 0.2 + 0.3, 0.2 + 0.5]).mean()
    assert any_remaining_loss(first, TARGETS, MASK).item() == pytest.approx(expected)


def test_padding_gets_no_gradient() -> None:
    for loss in (seq2seq_loss, any_remaining_loss):
        scores = SCORES.clone().requires_grad_()
        loss(scores, TARGETS, MASK).backward()
        assert scores.grad is not None
        assert torch.isfinite(scores.grad).all()
        assert (scores.grad[1, 2] == 0).all()
        assert (scores.grad[0] != 0).all()
