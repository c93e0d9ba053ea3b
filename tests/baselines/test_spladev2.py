"""The largest logits and their gradients are those of all logits and torch's own maximum."""

import pytest
import torch

from tsgen.baselines.spladev2 import largest_logits


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_maximum_over_all_logits(seed: int) -> None:
    torch.manual_seed(seed)
    states, table = torch.randn(3, 5, 4, requires_grad=True), torch.randn(7, 4, requires_grad=True)
    bias, lengths = torch.randn(7, requires_grad=True), torch.tensor([5, 1, 3])
    parts = states, table, bias
    mask = torch.arange(5) < lengths[:, None]
    every = (states @ table.T).masked_fill(~mask[:, :, None], -torch.inf)  # [B, S, V]
    slow = every.max(dim=1).values + bias
    fast = largest_logits(states, lengths, table, bias)
    torch.testing.assert_close(fast, slow)
    weights = torch.randn(3, 7)
    ours = torch.autograd.grad((fast.relu() * weights).sum(), parts)
    theirs = torch.autograd.grad((slow.relu() * weights).sum(), parts)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_a_frozen_table_has_no_gradient() -> None:
    states, table = torch.randn(1, 2, 3, requires_grad=True), torch.randn(4, 3)
    largest_logits(states, torch.tensor([2]), table, torch.zeros(4)).sum().backward()
    assert states.grad is not None
    assert table.grad is None
