"""The copy path: what it adds by hand, and that an untrained model already prefers query words."""

import math

import torch
from backbones import TERMS, TINY

from tsgen.model.mini import Copy


def test_what_a_state_points_at_is_added() -> None:
    copy = Copy(2)
    for layer in (copy.ask, copy.key):
        torch.nn.init.eye_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    vectors = torch.tensor([[[5.0, 0.0], [0.0, 7.0], [9.0, 9.0]]])
    encoded = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    pointed = copy.remember(encoded, vectors, torch.tensor([[True, True, False]]))
    found = copy(torch.tensor([[[math.sqrt(2) * 3, 0.0]]]), pointed)[0, 0]
    share = 1 / (
        1 + math.exp(-3)
    )  # of the first; the second is at right angles, the third not there
    assert found.tolist() == [
        torch.tensor(math.sqrt(2) * 3 + 2 * share * 5).item(),
        torch.tensor(2 * 0.5 * 7).item(),
    ]


def test_before_training_the_query_s_words_gain_most() -> None:
    torch.manual_seed(3)
    plain, copying = TINY.mini(TERMS), TINY.mini(TERMS, copying=True)
    copying.load_state_dict(plain.state_dict(), strict=False)
    for query in ("egg", "sodium"):
        _, _, before = plain.encode([query])
        _, _, after = copying.encode([query])
        gain = copying.logits(after)[0] - plain.logits(before)[0]
        assert TERMS[int(gain.argmax())] == query
