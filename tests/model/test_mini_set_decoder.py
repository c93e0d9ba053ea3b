"""A decoder that knows the set only: what comes next does not depend on the order so far."""

from itertools import permutations

import pytest
import torch
from backbones import FAMILIES, TINY
from torch.testing import assert_close

from tsgen.errors import ConfigError

QUERIES = ["a b c", "sodium in white bread"]


def after(backbone, prefix: tuple[int, ...]) -> torch.Tensor:
    """The scores for both queries after a prefix, step by step."""
    cache, nodes, hidden = backbone.encode(QUERIES)
    for token in prefix:
        nodes, hidden = backbone.step(cache, nodes, torch.tensor([token, token]))
    return backbone.logits(hidden)


def test_all_orders_of_a_set_are_one() -> None:
    torch.manual_seed(7)
    backbone = FAMILIES["mini-word-set"]()
    expected = after(backbone, (1, 3, 5))
    for order in permutations((1, 3, 5)):
        assert_close(after(backbone, order), expected, atol=1e-5, rtol=0)
    assert not torch.allclose(after(backbone, (1, 3, 6)), expected, atol=1e-2)
    assert backbone.order_free


def test_a_sequence_decoder_tells_them_apart() -> None:
    torch.manual_seed(7)
    backbone = FAMILIES["mini-word"]()
    assert not torch.allclose(after(backbone, (1, 3)), after(backbone, (3, 1)), atol=1e-2)
    assert not backbone.order_free


def test_pieces_of_a_term_have_an_order() -> None:
    with pytest.raises(ConfigError, match="decoder = 'set' with spelling = 'subword'"):
        TINY.mini(decoder="set")
