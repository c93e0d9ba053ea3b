"""Other terms for a model: the same vectors as if it had been given these terms at first."""

import numpy as np
import pytest
import torch

from tiny import Tiny
from tsgen.model.mini import Mini
from tsgen.model.pretrained import DecoderOnly, Seq2Seq
from tsgen.model.vocabulary import word_pieces

TINY = Tiny("bread egg milk rice tea white".split())
BEFORE = ["bread", "egg", "milk"]
AFTER = ["egg", "rice", "white bread", "milk"]
KEPT = np.array([1, -1, -1, 2], np.int32)


def model(kind: str) -> Mini | Seq2Seq | DecoderOnly:
    torch.manual_seed(0)
    if kind == "mini":
        return TINY.mini(BEFORE)
    made = TINY.t5() if kind == "t5" else TINY.llama()
    made.one_symbol_a_term(BEFORE)
    return made


@pytest.mark.parametrize("kind", ["mini", "t5", "llama"])
@pytest.mark.parametrize("composed", [True, False])
def test_like_a_model_with_these_terms(kind: str, composed: bool) -> None:
    before = model(kind)
    cache, node, hidden = before.encode(["white bread"])
    old = before.logits(hidden) if composed else None
    new = word_pieces(TINY.tokenizer(), ["rice", "white bread"])
    after = before.with_symbols(KEPT, new)
    expected = before.with_symbols(np.full(4, -1, np.int32), word_pieces(TINY.tokenizer(), AFTER))
    assert (after.output_size, expected.output_size, before.output_size) == (4, 4, 3)
    torch.testing.assert_close(after.logits(hidden), expected.logits(hidden))
    some = torch.tensor([2, 0])
    torch.testing.assert_close(after.logits(hidden, some), expected.logits(hidden)[:, some])
    if old is not None:
        torch.testing.assert_close(after.logits(hidden)[:, [0, 3]], old[:, [1, 2]])
        torch.testing.assert_close(before.logits(hidden), old)
    for each in (after, expected):
        cache, node, _ = each.encode(["white bread"])
        each.step(cache, node, torch.tensor([3]))
    weights = zip(before.parameters(), after.parameters(), strict=True)
    assert all(one.data_ptr() == other.data_ptr() for one, other in weights)
