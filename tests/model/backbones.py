"""A backbone of every family in each spelling, with weights far from flat, so that a wrong position
or a wrong key shows in the scores."""

from collections.abc import Callable
from typing import Any

import torch

from tiny import Tiny

WORDS = "a b c d e f g h i j k l m n o p sodium bread white egg".split()
TERMS = ["a b c", "d", "white bread", "egg", "zzz", "sodium", "e f g h i j k l m n", "p"]
TINY = Tiny(WORDS, width=16, layers=2)


def sharpened(backbone: Any) -> Any:
    with torch.no_grad():
        for weights in (*backbone.parameters(), *backbone.buffers()):
            if weights.dim() > 1 and weights.is_floating_point():
                weights.normal_(std=0.3)
    return backbone


def by_words(make: Callable[[], Any]) -> Callable[[], Any]:
    def backbone() -> Any:
        made = make()
        made.one_symbol_a_term(TERMS)
        return sharpened(made)

    return backbone


HF = {
    "t5": TINY.t5,
    "t5-unscaled": lambda: TINY.t5(scaled=False),
    "bart": TINY.bart,
    "bart-scaled": lambda: TINY.bart(scaled=True),
    "bert2bert": lambda: TINY.bert2bert(encoder_width=24),
    "llama": TINY.llama,
    "gpt2": TINY.gpt2,
}
FAMILIES: dict[str, Callable[[], Any]] = {
    "mini-word": lambda: sharpened(TINY.mini(TERMS)),
    "mini-subword": lambda: sharpened(TINY.mini()),
    "mini-word-copying": lambda: sharpened(TINY.mini(TERMS, copying=True)),
    "mini-word-set": lambda: sharpened(TINY.mini(TERMS, decoder="set")),
    "mini-free-adaptive": lambda: sharpened(TINY.mini(free_symbols=9, adaptive=4)),
    "mini-subword-copying": lambda: sharpened(TINY.mini(copying=True)),
    **{name: lambda make=make: sharpened(make()) for name, make in HF.items()},
    **{f"{name}-word": by_words(HF[name]) for name in ("t5", "bart", "bert2bert", "llama")},
}
