"""Words and subwords side by side: which of an encoder's tokens make up each word.

A text longer than the encoder's window becomes several overlapping windows. Every occurrence of a
word is then a range of token positions in one window, and everything else is array arithmetic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsgen.terms.words import Splitter


@dataclass(frozen=True, slots=True)
class Aligned:
    """One window of a text: its tokens, and each word's token range `[first, last)` in it."""

    tokens: NDArray[np.int32]  # [S] with the encoder's special tokens
    words: list[str]  # [W] spellings, an occurrence each
    first: NDArray[np.int32]  # [W]
    last: NDArray[np.int32]  # [W]


class Aligner:
    """Splits and tokenises texts at once."""

    def __init__(self, splitter: Splitter, tokenizer: Any, window: int, overlap: int) -> None:
        self.splitter = splitter
        self._tokenizer = tokenizer
        self._window = window
        self._overlap = overlap

    def windows(self, texts: Sequence[str]) -> list[list[Aligned]]:
        """For each text its windows, in order; always at least one."""
        if not texts:
            return []
        encoded = self._tokenizer(
            list(texts),
            truncation=True,
            max_length=self._window,
            stride=self._overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        found: list[list[Aligned]] = [[] for _ in texts]
        words = [self.splitter.split(text) for text in texts]
        for i, text in enumerate(encoded["overflow_to_sample_mapping"]):
            found[text].append(_align(encoded, i, words[text]))
        return found

    def heads(self, texts: Sequence[str]) -> list[Aligned]:
        """Only the first window of each text."""
        return [windows[0] for windows in self.windows(texts)]


def _align(encoded: Any, i: int, words: Sequence[tuple[str, int, int]]) -> Aligned:
    tokens = np.asarray(encoded["input_ids"][i], np.int32)
    starts = _token_starts(np.asarray(encoded["offset_mapping"][i], np.int32))
    spans = np.asarray([(start, end) for _, start, end in words], np.int32).reshape(-1, 2)
    first = np.searchsorted(starts, spans[:, 0], side="left").astype(np.int32)
    last = np.searchsorted(starts, spans[:, 1], side="left").astype(np.int32)
    inside = np.flatnonzero(last > first).tolist()
    return Aligned(tokens, [words[w][0] for w in inside], first[inside], last[inside])


def _token_starts(offsets: NDArray[np.int32]) -> NDArray[np.int32]:
    """Each token's first character; special tokens (empty spans) before or after everything."""
    starts = offsets[:, 0].copy()
    special = offsets[:, 0] == offsets[:, 1]
    middle = len(starts) // 2
    starts[:middle][special[:middle]] = -1
    starts[middle:][special[middle:]] = np.iinfo(np.int32).max
    return starts
