"""A generator whose documents change: the same model, other term sets."""

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.postings import PostingsConstraint
from tsgen.docids.spelling import words
from tsgen.docids.term_set import TermSets
from tsgen.model.vocabulary import pieces_in_text, word_pieces
from tsgen.train.generator import (
    Generator,
    TrainableBackbone,
    load_backbone,
    subword_spelling,
)


class Grower:
    """Gives a model other term sets, and keeps what was found out about terms.

    Its tokenizer is a copy: that of the model may be reading queries in another thread.
    """

    def __init__(self, backbone: TrainableBackbone) -> None:
        self._tokenizer = deepcopy(backbone.tokenizer)
        self._pieces: dict[str, Sequence[int]] = {}

    def grow(self, before: Generator, sets: TermSets, kept: NDArray[np.int32]) -> Generator:
        """The generator for `sets`; term t of them was the term kept[t], or −1: it is new."""
        backbone = before.backbone
        if backbone.spelling != "word":
            spelling = subword_spelling(self._tokenizer, sets, self._tokenize)
            return Generator(backbone, sets, PostingsConstraint(sets, spelling))
        if not np.array_equal(kept, np.arange(len(before.sets.vocabulary))):
            new = [sets.term(int(term)) for term in np.flatnonzero(kept < 0)]
            backbone = backbone.with_symbols(kept, word_pieces(self._tokenizer, new))
        return Generator(backbone, sets, PostingsConstraint(sets, words(len(kept))))

    def _tokenize(self, terms: Sequence[str]) -> list[Sequence[int]]:
        new = [term for term in terms if term not in self._pieces]
        if new:
            found = pieces_in_text(self._tokenizer, new)
            self._pieces.update(zip(new, found, strict=True))
        return [self._pieces[term] for term in terms]


def load_with_terms(folder: Path, sets: TermSets, query_tokens: int) -> Generator:
    """A saved model with the terms of these sets as its symbols, in place of those it came with."""
    backbone = load_backbone(folder, query_tokens)
    if backbone.spelling == "word":
        pieces = word_pieces(backbone.tokenizer, list(sets.vocabulary))
        none = np.full(len(sets.vocabulary), -1, np.int32)
        backbone = backbone.with_symbols(none, pieces)
    return Generator.of(backbone, sets)


def kept_terms(before: TermSets, after: TermSets) -> NDArray[np.int32]:
    """[V] which term of `before` each term of `after` is, or −1."""
    numbers = {term: i for i, term in enumerate(before.vocabulary)}
    return np.array([numbers.get(term, -1) for term in after.vocabulary], np.int32)
