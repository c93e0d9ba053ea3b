"""A generator whose documents change: the same model, other term sets."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.docids.spelling import Spelling, Tokenize, subwords, words
from tsgen.docids.term_set import TermSets
from tsgen.errors import ConfigError
from tsgen.model.decoder_only import DecoderOnly
from tsgen.model.mini import CONFIG_FILE, Mini
from tsgen.model.pretrained import load_pretrained, load_saved, require_pretrained
from tsgen.model.seq2seq import Seq2Seq
from tsgen.model.shipped import tsgen_mini
from tsgen.model.vocabulary import pieces_in_text, word_pieces
from tsgen.settings import MINI, MINI_FLAT, ModelConfig

# A language model together with the term sets it writes.

TERMINATOR = ","
TrainableBackbone = Mini | Seq2Seq | DecoderOnly


@dataclass(frozen=True, slots=True)
class Generator:
    """The backbone, the documents' term sets, and what keeps generation inside them."""

    backbone: TrainableBackbone
    sets: TermSets
    constraint: PostingsConstraint

    @classmethod
    def of(cls, backbone: TrainableBackbone, sets: TermSets) -> Self:
        """The backbone on the GPU if there is one, the terms spelled as it writes them."""
        backbone.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        return cls(backbone, sets, PostingsConstraint(sets, spelling_for(backbone, sets)))

    @classmethod
    def new(cls, config: ModelConfig, sets: TermSets, seed: int) -> Self:
        """An untrained generator; what the pretrained model does not bring starts from the seed."""
        torch.manual_seed(seed)
        terms = list(sets.vocabulary) if config.spelling == "word" else None
        if config.backbone == MINI:
            return cls.adapted(tsgen_mini(), sets)
        if config.backbone == MINI_FLAT:
            return cls.of(Mini.create(config.own_sizes(), terms), sets)
        return cls.of(load_pretrained(config.backbone, config.query_tokens, terms), sets)

    @classmethod
    def load(cls, folder: Path, sets: TermSets, query_tokens: int) -> Self:
        """From the folder that the backbone's `save` wrote."""
        return cls.of(load_backbone(folder, query_tokens), sets)

    @classmethod
    def adapted(cls, folder: Path, sets: TermSets) -> Self:
        """A saved `mini` that spells by word, with the terms of other sets as its symbols: their
        vectors are composed of pieces that it knows."""
        backbone = Mini.load(folder, list(sets.vocabulary))
        if backbone.spelling != "word":
            raise ConfigError(
                f"{folder}: it spells terms by subwords; expected one with spelling 'word', which "
                "alone can take other terms as its symbols."
            )
        return cls.of(backbone, sets)

    @property
    def encoder(self) -> Any:
        """The part that reads queries; it holds the input embeddings."""
        return self.backbone.encoder


def load_backbone(folder: Path, query_tokens: int) -> TrainableBackbone:
    """What a backbone's `save` wrote."""
    if (folder / CONFIG_FILE).exists():
        return Mini.load(folder)
    return load_saved(folder, query_tokens)


def require_backbone(config: ModelConfig) -> None:
    """Fail now if the language model cannot be had."""
    if config.backbone == MINI:
        tsgen_mini()
    elif config.backbone != MINI_FLAT:
        require_pretrained(config.backbone)


def spelling_for(backbone: TrainableBackbone, sets: TermSets) -> Spelling:
    """One output symbol a term, or the tokenizer's pieces closed by the paper's ","."""
    if backbone.spelling == "word":
        return words(len(sets.vocabulary))
    tokenizer = backbone.tokenizer
    return subword_spelling(tokenizer, sets, lambda terms: pieces_in_text(tokenizer, terms))


def subword_spelling(tokenizer: Any, sets: TermSets, tokenize: Tokenize) -> Spelling:
    """The pieces that `tokenize` gives each term, closed by the paper's ","."""
    terminator = tokenizer.convert_tokens_to_ids(TERMINATOR)
    if terminator in (None, tokenizer.unk_token_id):
        raise ConfigError(
            f"the backbone's tokenizer has no token {TERMINATOR!r}, which ends a term; expected "
            "one that has. Use another backbone, or the word spelling: model.spelling=word."
        )
    return subwords(list(sets.vocabulary), tokenize, terminator)


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
