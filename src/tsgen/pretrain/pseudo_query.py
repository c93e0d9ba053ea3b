"""What a person might type to find a document, made from nothing but the document."""

from collections.abc import Callable, Mapping

import numpy as np

from tsgen.pretrain.aspects import aspect
from tsgen.pretrain.config import KINDS, PseudoQueryConfig
from tsgen.pretrain.cut import clause
from tsgen.pretrain.keywords import keywords
from tsgen.pretrain.noise import with_noise
from tsgen.pretrain.prepared import Prepared
from tsgen.pretrain.question import question
from tsgen.pretrain.sentence import sentence
from tsgen.pretrain.titles import title
from tsgen.records import Document

Kind = Callable[[Prepared, np.random.Generator], str]
MAKERS: Mapping[str, Kind] = dict(
    zip(KINDS, (title, sentence, question, aspect, keywords), strict=True)
)
ASKING = ("question", "aspect")


def pseudo_query(
    document: Document | Prepared, rng: np.random.Generator, config: PseudoQueryConfig
) -> str:
    """One query for a document, of a kind drawn by the settings' shares, with noise; never empty.

    The same document, state of the generator and settings give the same text on every machine.
    Pass a `Prepared` document where many queries are made for it.
    """
    prepared = document if isinstance(document, Prepared) else Prepared(document)
    kind = _kind(config, rng)
    made = with_noise(MAKERS[kind](prepared, rng) or _fallback(prepared), rng, config.noise)
    mark = "?" if kind in ASKING and rng.random() < config.question_mark else ""
    return made + mark


def _kind(config: PseudoQueryConfig, rng: np.random.Generator) -> str:
    shares = config.shares()
    left = rng.random() * sum(shares.values())
    for kind, share in shares.items():
        left -= share
        if left < 0:
            return kind
    return max(shares, key=shares.__getitem__)  # rounding may leave a little


def _fallback(document: Prepared) -> str:
    """The title, the first words, or where a document has neither, its id."""
    return document.title or clause(" ".join(document.sentences[:1]), 8) or document.id
