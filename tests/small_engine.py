"""An engine of a few hand-written documents in a moment: a random model that can copy the query's
words needs no training to find documents by them."""

import re
from pathlib import Path

import torch
from tokenizers import normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from tiny import SPECIAL, Tiny, word_level, wrapped
from tsgen.artifact import seal
from tsgen.docids.term_set import TermSets
from tsgen.model.generator import Generator
from tsgen.records import Document, TermSet
from tsgen.retrieve.engine import KIND, write_engine
from tsgen.settings import DecodeConfig, EngineConfig, ModelConfig, SearchConfig

TEXTS = {
    "bread/sourdough.md": "Sourdough bread starter flour water oven",
    "bread/rye.md": "Rye bread dark flour caraway oven",
    "bread/white.md": "White bread sodium yeast flour butter",
    "drinks/tea.md": "Green tea leaves water kettle cup",
    "drinks/coffee.md": "Coffee beans grinder water cup filter",
    "drinks/cocoa.md": "Cocoa milk sugar cup winter whisk",
    "garden/tomato.md": "Tomato seedlings sun water soil balcony",
    "garden/roses.md": "Roses pruning winter soil thorns <b>gloves</b>",
    "garden/compost.md": "Compost leaves soil worms kitchen peel",
    "soup/lentil.md": "Lentil soup cumin onion water pot",
    "soup/tomato.md": "Tomato soup basil onion cream pot",
    "soup/onion.md": "Onion soup cheese bread oven pot",
    "sweet/jam.md": "Plum jam sugar jars summer pot",
    "sweet/cake.md": "Carrot cake sugar flour oven cream",
    "sweet/honey.md": "Honey bees jars summer flowers spoon",
}
QUERY = "bread flour oven"
COPYING = 1000.0  # as much as the query's words must count beside random weights


class Words(Tiny):
    """As `Tiny`, and every query begins with a token, even an empty one."""

    def tokenizer(self) -> PreTrainedTokenizerFast:
        tokenizer = word_level(self.words)
        tokenizer.normalizer = normalizers.Lowercase()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        first = [("[CLS]", SPECIAL.index("[CLS]"))]
        tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A", special_tokens=first)
        return wrapped(tokenizer)


def documents() -> list[Document]:
    """The first two words are the title."""
    return [
        Document(id, f"{text}.", " ".join(text.split()[:2]), {"folder": id.split("/")[0]})
        for id, text in TEXTS.items()
    ]


def term_set(id: str) -> TermSet:
    words = re.sub("<.*?>", "", TEXTS[id]).lower().split()
    return TermSet(id, tuple(words), tuple(float(9 - i) for i in range(len(words))))


def write_small_engine(folder: Path, correct: bool = False, **decode: object) -> Path:
    """The folder of an engine with a beam of 4, unless told otherwise."""
    sets = TermSets.of(term_set(id) for id in TEXTS)
    torch.manual_seed(7)
    backbone = Words(list(sets.vocabulary)).mini(list(sets.vocabulary), copying=True)
    with torch.no_grad():
        backbone.copy.scale.fill_(COPYING)
    settings = {"beam": 4, "normalise": "valid", "merge": "sum"} | decode
    config = EngineConfig(
        model=ModelConfig(spelling="word", copying=True),
        decode=DecodeConfig(**settings),
        search=SearchConfig(correct=correct),
    )
    folder.mkdir(parents=True)
    write_engine(folder, Generator.of(backbone, sets), config, documents())
    seal(folder, KIND, config, {})
    return folder
