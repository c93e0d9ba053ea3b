"""The largest logit of every vocabulary token over a text's tokens, without keeping all of them.

    m_j = max_i (e_j · h_i) + b_j

A text of S tokens has S · V logits, of which only V are wanted. Their gradient needs no more than
where each maximum was found, and is zero for most: after a relu, where the maximum is negative. So
the logits of one text and some tokens at a time, no more than fit into a cache, are computed and
forgotten.
"""

from typing import Any

import torch

BLOCK = 1024  # tokens of the vocabulary


def largest_logits(
    states: torch.Tensor, lengths: torch.Tensor, table: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """[B, V] of states [B, S, d] with so many tokens each [B], vocabulary [V, d] and bias [V]."""
    found: torch.Tensor = _LargestLogits.apply(states.float(), lengths, table)  # type: ignore[no-untyped-call]
    return found + bias


class _LargestLogits(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: torch.Tensor, lengths: torch.Tensor, table: torch.Tensor
    ) -> torch.Tensor:
        with torch.autocast(states.device.type, enabled=False):
            texts = [text[:n] for text, n in zip(states, lengths.tolist(), strict=True)]
            if not any(ctx.needs_input_grad):
                return torch.stack([_largest(text, table) for text in texts])
            both = [_largest_with_places(text, table) for text in texts]
        ctx.save_for_backward(states, table, torch.stack([places for _, places in both]))
        return torch.stack([values for values, _ in both])

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (gradient,) = gradients
        states, table, places = ctx.saved_tensors
        to_states = torch.zeros_like(states)
        to_table = torch.zeros_like(table) if ctx.needs_input_grad[2] else None
        for row, values in enumerate(gradient):
            (tokens,) = values.nonzero(as_tuple=True)
            at, weights = places[row, tokens], values[tokens].unsqueeze(-1)
            to_states[row].index_add_(0, at, weights * table[tokens])
            if to_table is not None:
                to_table.index_add_(0, tokens, weights * states[row, at])
        return to_states, None, to_table


def _largest(text: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """[V] of a text's states [S, d]."""
    return torch.cat([(block @ text.T).amax(dim=1) for block in torch.split(table, BLOCK)])


def _largest_with_places(
    text: torch.Tensor, table: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same, and [V] at which of the states."""
    found = [(block @ text.T).max(dim=1) for block in torch.split(table, BLOCK)]
    return torch.cat([one.values for one in found]), torch.cat([one.indices for one in found])
