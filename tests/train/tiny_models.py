"""Twenty documents, their term sets, and backbones of every family small enough to learn them.

A document's terms are spelled by one or two pieces of the tokenizer.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from transformers import BertConfig, PreTrainedTokenizerFast

import tiny
from tsgen.docids.term_set import TermSets
from tsgen.model.backbone import Backbone
from tsgen.model.generator import Generator
from tsgen.model.mini import Mini
from tsgen.queries.pairs import Pair
from tsgen.records import TermSet
from tsgen.settings import ModelConfig
from tsgen.train.examples import Validation

DOCUMENTS = 20
PIECES = [f"w{n}" for n in range(8)]
TERMS = [f"{a} {b}" for a in PIECES for b in PIECES[:3]] + PIECES[3:]  # of one piece or of two
TINY = tiny.Tiny([*PIECES, *(f"q{n}" for n in range(DOCUMENTS))])


def term_sets() -> TermSets:
    rng = np.random.default_rng(0)
    rows = [rng.choice(len(TERMS), size=4, replace=False) for _ in range(DOCUMENTS)]
    weights = (4.0, 3.0, 2.0, 1.0)
    return TermSets.of(
        TermSet(f"d{i}", tuple(TERMS[t] for t in row), weights) for i, row in enumerate(rows)
    )


PAIRS = [Pair(f"q{i} {PIECES[i % 8]}", i) for i in range(DOCUMENTS)]
VALIDATION = Validation([pair.query for pair in PAIRS], [{pair.document} for pair in PAIRS])


def tokenizer() -> PreTrainedTokenizerFast:
    return TINY.tokenizer()


def bert_config() -> BertConfig:
    return tiny.bert_config(TINY.vocabulary)


def _by_words(make: Callable[[], Backbone]) -> Backbone:
    backbone = make()
    backbone.one_symbol_a_term(list(term_sets().vocabulary))
    return backbone


HF = {"t5": TINY.t5, "bart": TINY.bart, "bert2bert": TINY.bert2bert, "llama": TINY.llama}
FAMILIES: dict[str, Callable[[], Backbone]] = {
    "mini-word": lambda: TINY.mini(list(term_sets().vocabulary)),
    "mini-word-set": lambda: TINY.mini(list(term_sets().vocabulary), decoder="set"),
    "mini-subword": TINY.mini,
    **HF,
    **{f"{name}-word": partial(_by_words, make) for name, make in HF.items()},
}


def settings_of(backbone: Backbone) -> ModelConfig:
    """The settings with which such a backbone is loaded."""
    return ModelConfig(backbone="mini-flat" if isinstance(backbone, Mini) else "transformers")


def generator(family: str, seed: int = 0) -> Generator:
    torch.manual_seed(seed)
    return Generator.of(FAMILIES[family](), term_sets())
