"""A copy path: the decoder points at words of the query, and terms like them score higher.

    h' = h + s Σ_j a_j (c_j − c̄),   a_j = σ(q(h) · k(x_j) / √d)

x_j is the encoder's state of the query's token j and c_j the vector that the decoder's table has
for that token; c̄ is the mean of all tokens. Since a term's score is h' · e(t), and e(t) is made of
the same vectors, a term that the query has gains by the size of its own vector, one that shares a
piece or is near in meaning gains less: nothing about words is compared, so no word is unknown.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

SCALE = 2.0  # of the gain before training


@dataclass(frozen=True, slots=True)
class Pointed:
    """The words of some queries, as what can be pointed at."""

    keys: Tensor  # [Q, S, d]
    vectors: Tensor  # [Q, S, d] zero where there is no token


class Copy(nn.Module):
    """Adds the vectors of the query's words that a state points at."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ask, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.scale = nn.Parameter(torch.tensor(SCALE))

    def remember(self, encoded: Tensor, vectors: Tensor, mask: Tensor) -> Pointed:
        """From the encoder's states and the tokens' vectors, both [Q, S, d], and the mask [Q, S]
        of what is a token, once for all steps."""
        return Pointed(self.key(encoded), vectors * mask[..., None])

    def forward(self, states: Tensor, pointed: Pointed) -> Tensor:
        """States [Q, T, d] of the decoder's last layer with what they point at."""
        width = states.shape[-1]
        share = torch.sigmoid(self.ask(states) @ pointed.keys.transpose(1, 2) / width**0.5)
        out: Tensor = states + self.scale * (share @ pointed.vectors)
        return out
