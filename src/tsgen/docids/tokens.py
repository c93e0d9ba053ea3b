"""How many tokens of a language model's tokenizer a term takes: each is a step of the decoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from tsgen.errors import ConfigError
from tsgen.terms.encoder import MINILM, packaged_minilm

FILE = "tokenizer.json"


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens per term over a vocabulary, without the terminator."""

    tokenizer: str
    mean: float
    most: int
    share_of_one: float  # of the terms are a single token


def count_tokens(terms: Sequence[str], tokenizer: str = MINILM) -> TokenCounts:
    """Tokenise every term once."""
    tokenise = open_tokenizer(tokenizer)
    tokenise.no_padding()
    tokenise.no_truncation()
    encoded = tokenise.encode_batch(list(terms), add_special_tokens=False)
    counts = np.array([len(term.ids) for term in encoded] or [0])
    return TokenCounts(
        tokenizer, float(counts.mean()), int(counts.max()), float((counts == 1).mean())
    )


def open_tokenizer(name: str) -> Tokenizer:
    """A `tokenizer.json`, a folder with one, the packaged MiniLM's, or one of the hub's by name."""
    path = packaged_minilm() if name == MINILM else Path(name)
    path = path / FILE if path.is_dir() else path
    try:
        if path.is_file():
            return Tokenizer.from_file(str(path))
        return Tokenizer.from_pretrained(name)
    except Exception as error:  # the library raises bare Exception for damaged and unknown files
        raise ConfigError(
            f"cannot open the tokenizer {name!r}: {str(error).rstrip('.')}. "
            f"Expected {MINILM!r}, a {FILE}, a folder with one, or a hub name with network."
        ) from None
