"""A language model together with the term sets it writes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch

from tsgen.constrain.postings import PostingsConstraint
from tsgen.docids.spelling import Spelling, Tokenize, subwords, words
from tsgen.docids.term_set import TermSets
from tsgen.errors import ConfigError
from tsgen.model.decoder_only import DecoderOnly
from tsgen.model.mini import CONFIG_FILE, Mini
from tsgen.model.pretrained import load_pretrained, load_saved, require_pretrained
from tsgen.model.seq2seq import Seq2Seq
from tsgen.model.shipped import tsgen_mini
from tsgen.model.vocabulary import pieces_in_text
from tsgen.train.config import MINI, MINI_FLAT, ModelConfig

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
