"""The words that a language model's tokenizer knows as such."""

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=2)
def whole_words(tokenizer: Any) -> frozenset[str]:
    """Its pieces that are words, without the mark of a word's beginning that some of them have."""
    pieces = (str(piece).strip("▁Ġ") for piece in tokenizer.get_vocab())
    return frozenset(piece for piece in pieces if piece.isalpha())
