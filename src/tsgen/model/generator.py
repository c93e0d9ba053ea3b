"""A language model together with the term sets it writes, and how it gets other term sets."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.docids.spelling import Spelling, Tokenize, subwords, words
from tsgen.docids.term_set import TermSets
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone, architecture
from tsgen.model.vocabulary import pieces_in_text, word_pieces
from tsgen.settings import ModelConfig

TERMINATOR = ","  # after each term that is spelled by pieces, as in the paper


@dataclass(frozen=True, slots=True)
class Generator:
    """A backbone, the documents' term sets, and the constraint that keeps a search inside them."""

    backbone: Backbone
    sets: TermSets
    constraint: PostingsConstraint

    @classmethod
    def of(cls, backbone: Backbone, sets: TermSets) -> Self:
        """Put the backbone on the GPU if there is one, and spell the terms as it writes them."""
        backbone.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        return cls(backbone, sets, PostingsConstraint(sets, spelling_for(backbone, sets)))

    @classmethod
    def new(cls, config: ModelConfig, sets: TermSets, seed: int) -> Self:
        """An untrained generator; what the pretrained model does not bring starts from the seed."""
        torch.manual_seed(seed)
        terms = list(sets.vocabulary) if config.spelling == "word" else None
        return cls.of(architecture(config.backbone).create(config, terms), sets)

    @classmethod
    def load(cls, folder: Path, sets: TermSets, config: ModelConfig) -> Self:
        """Read the backbone that was saved in the folder; `sets` are the ones that it writes."""
        return cls.of(load_backbone(folder, config), sets)

    @classmethod
    def load_with_terms(cls, folder: Path, sets: TermSets, config: ModelConfig) -> Self:
        """Read the backbone that was saved in the folder, with the terms of these sets as its
        symbols in place of those it was saved with."""
        load = architecture(config.backbone).load
        return cls.of(load(folder, config, list(sets.vocabulary)), sets)

    def learned(self) -> Self:
        """The generator after it has learned its documents, if the sets hold a vector of each."""
        vectors, constraint = self.sets.doc_vectors, self.constraint
        if vectors is None:
            return self
        backbone = self.backbone.learned(constraint.term_sets, constraint.shares, vectors.means())
        return self.with_backbone(backbone)

    def with_backbone(self, backbone: Backbone) -> Self:
        """The generator of the same terms by another backbone."""
        return replace(self, backbone=backbone)

    @property
    def encoder(self) -> Any:
        """The module that reads queries; it holds the input embeddings."""
        return self.backbone.query_encoder


def load_backbone(folder: Path, config: ModelConfig) -> Backbone:
    """Read what the `save` of a backbone with these settings wrote."""
    return architecture(config.backbone).load(folder, config, None)


def require_backbone(config: ModelConfig) -> None:
    """Fail now if the language model cannot be had."""
    architecture(config.backbone).require(config)


def spelling_for(backbone: Backbone, sets: TermSets) -> Spelling:
    """Spell each term by one output symbol, or by the tokenizer's pieces and the paper's ","."""
    if backbone.spelling == "word":
        return words(len(sets.vocabulary))
    tokenizer = backbone.tokenizer
    return subword_spelling(tokenizer, sets, lambda terms: pieces_in_text(tokenizer, terms))


def subword_spelling(tokenizer: Any, sets: TermSets, tokenize: Tokenize) -> Spelling:
    """Spell each term by the pieces that `tokenize` gives it and the paper's "," after them."""
    terminator = tokenizer.convert_tokens_to_ids(TERMINATOR)
    if terminator in (None, tokenizer.unk_token_id):
        raise ConfigError(
            f"the backbone's tokenizer has no token {TERMINATOR!r}, which ends a term; expected "
            "one that has. Use another backbone, or the word spelling: model.spelling=word."
        )
    return subwords(list(sets.vocabulary), tokenize, terminator)


class Grower:
    """Gives a model other term sets, and remembers the pieces of terms that it has spelled before.

    It spells with a copy of the model's tokenizer, because the model's own may be reading queries
    in another thread.
    """

    def __init__(self, backbone: Backbone) -> None:
        self._tokenizer = deepcopy(backbone.tokenizer)
        self._pieces: dict[str, Sequence[int]] = {}

    def grow(self, before: Generator, sets: TermSets, kept: NDArray[np.int32]) -> Generator:
        """Make the generator of other term sets.

        Args:
            before: A generator with the backbone that this object was made for.
            sets: The term sets that the new generator writes.
            kept: [V] which term of `before` each term of `sets` is, or −1 for a new term.
        """
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


def kept_terms(before: TermSets, after: TermSets) -> NDArray[np.int32]:
    """[V] which term of `before` each term of `after` is, or −1 for a new term."""
    numbers = {term: i for i, term in enumerate(before.vocabulary)}
    return np.array([numbers.get(term, -1) for term in after.vocabulary], np.int32)
