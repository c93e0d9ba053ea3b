"""Sentences: a vector for each sentence of a text, from the same reading as that of the whole text.

A sentence's vector u is, as that of a text, the mean of the encoder's states over its tokens,
scaled to length 1. The states come from the reading of the whole text, so that a sentence is read
with those around it, and costs nothing more to read. Where a question asks for a detail, the
nearest sentence is a better sign than the vector of all that a text is about.

A text is cut after `.`, `!`, `?`, `:` and `;` before a space, and at line ends; what is shorter
than `SHORTEST` characters goes with the next. A text of one sentence has no more vectors than its
own.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHORTEST = 20  # characters of a sentence
TOKENS = 4  # of a sentence, at least

_END = re.compile(r"(?<=[.!?:;])\s+|\s*\n\s*|(?<=[。！？；])")

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]


class TextVectors(NamedTuple):
    """What an encoder makes of T texts, in one reading."""

    whole: Float32  # [T, d] v of each text
    counts: Int64  # [T] how many sentences each text has that were read; 0 for one
    sentences: Float32  # [Σ counts, d] u of each sentence, text by text


def sentence_starts(text: str) -> list[int]:
    """The positions of the characters at which the sentences of a text begin."""
    starts = [0]
    for found in _END.finditer(text):
        if found.start() - starts[-1] >= SHORTEST:
            starts.append(found.end())
    if len(starts) > 1 and len(text) - starts[-1] < SHORTEST:
        starts.pop()
    return starts


def sentence_vectors_of(
    text: str, places: NDArray[np.integer], states: Float32
) -> NDArray[np.float32]:
    """The vectors [S, d] of a text's sentences; none for a text of one.

    Args:
        text: The text.
        places: [n, 2] the characters at which each token begins and ends; special tokens are empty.
        states: [n, d] the encoder's states of these tokens.
    """
    starts = sentence_starts(text)
    inside = np.flatnonzero(places[:, 1] > places[:, 0])
    if len(starts) < 2 or not len(inside):
        return states[:0]
    sentence = np.searchsorted(starts, places[inside, 0], side="right") - 1
    first = np.flatnonzero(np.diff(sentence, prepend=-1))
    sums = np.add.reduceat(states[inside], first, axis=0)
    long = np.diff(np.append(first, len(inside))) >= TOKENS
    if long.sum() < 2:
        return states[:0]
    chosen = sums[long]
    found: Float32 = chosen / np.linalg.norm(chosen, axis=1, keepdims=True)
    return found


def joined(whole: Float32, sentences: Sequence[Float32]) -> TextVectors:
    """The vectors [T, d] of texts with those [S, d] of each text's sentences."""
    counts = np.array([len(own) for own in sentences], np.int64)
    none = np.zeros((0, whole.shape[1]), np.float32)
    return TextVectors(whole, counts, np.concatenate([none, *sentences]))
