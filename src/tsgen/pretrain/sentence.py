"""Queries that are a piece of the text, and pronouns that a reader outside it would not know."""

import re

import numpy as np

from tsgen.pretrain.cut import clause
from tsgen.pretrain.prepared import Prepared

WORDS = 14  # of a sentence, the most
_PRONOUN = re.compile(r"(?:He|She|It|They|This|These|There)\s+")
_OWNER = re.compile(r"(?:His|Her|Its|Their)\s+")
_VERB = "is|was|are|were|has|had|can|contains|includes|consists|features|covers|[a-z]+ed"
_SORT = re.compile(rf"(?:The|This) [a-z]+ (?=(?:{_VERB})\b)")


def sentence(document: Prepared, rng: np.random.Generator) -> str:
    """A sentence of the text, at most 14 words up to the end of a clause; an English pronoun it
    begins with becomes the title, or goes."""
    found = document.some_sentence(rng)
    return clause(with_subject(found, document.name if rng.random() < 0.6 else ""), WORDS)


def with_subject(text: str, name: str) -> str:
    """A sentence with the pronoun it begins with replaced: `It is hot` → `Mercury is hot`; with an
    empty name it goes. So does `The planet` before a verb. `His father` becomes `Mercury father`,
    as people type."""
    match = _PRONOUN.match(text) or _OWNER.match(text) or _SORT.match(text)
    return f"{name} {text[match.end() :]}".strip() if match else text
