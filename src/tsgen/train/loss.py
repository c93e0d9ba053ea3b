"""The two losses, over scores that predict every token of a target from the tokens before it.

Scores [B, K, V] may be of the first K of a target's T tokens only.
"""

import torch
from torch import Tensor

IGNORED = -100  # no column: a place of padding


def seq2seq_loss(scores: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """−log p of the targets [B, T], as columns of the scores [B, K, V]: the mean over all tokens
    where `mask` [B, T]."""
    # Rows of scores, one after the other: a softmax across a transposed axis is five times slower.
    right = targets.masked_fill(~mask, IGNORED)[:, : scores.shape[1]].flatten()  # [B · K]
    return torch.nn.functional.cross_entropy(scores.flatten(0, 1), right, ignore_index=IGNORED)


def any_remaining_loss(scores: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """−log Σ_{r ∈ T(D) \\ X} p(r | X; Q): every term of the set that is not yet written is right.

    One token is one term: the terms that remain at a target's place t are those at t and after it.
    """
    first, length = scores.shape[1], targets.shape[1]
    right = scores.gather(2, targets[:, None, :].expand(-1, first, -1))  # [B, K, T]
    remains = torch.ones(first, length, dtype=torch.bool, device=scores.device).triu()
    right = right.masked_fill(~(remains & mask[:, None, :]), -torch.inf)
    mask = mask[:, :first]
    losses = torch.logsumexp(scores, -1)[mask] - torch.logsumexp(right[mask], -1)
    return losses.mean()


LOSSES = {"seq2seq": seq2seq_loss, "any_remaining": any_remaining_loss}
