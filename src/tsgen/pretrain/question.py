"""Queries that ask for what a sentence says, its answer left out (English)."""

import re

import numpy as np

from tsgen.pretrain.aspects import sort_of
from tsgen.pretrain.cut import first_words, short
from tsgen.pretrain.draw import pick, weighted
from tsgen.pretrain.endings import PAST_OF_PARTICIPLE, base
from tsgen.pretrain.patterns import PATTERNS
from tsgen.pretrain.prepared import Prepared, content_words
from tsgen.pretrain.sentence import with_subject

MOST = 11  # words
TELLING = 4  # content words that a question without the title has at least
_QUESTION_WORDS = ("what", "who", "which", "where", "when", "how", "is", "does", "why", "can")


def question(document: Prepared, rng: np.random.Generator) -> str:
    """A question that a sentence answers, by one of the patterns it has the form of; otherwise a
    question word and some of its content words."""
    sentence = with_subject(document.some_sentence(rng), document.name or "it")
    if not sentence:
        return ""
    asked = _by_pattern(document, sentence, rng)
    return asked if _tells(asked, document) else _loose(document, sentence, rng)


def _by_pattern(document: Prepared, sentence: str, rng: np.random.Generator) -> str:
    for number in rng.permutation(len(PATTERNS)):
        pattern = PATTERNS[number]
        if match := pattern.form.match(sentence):
            template = pick(pattern.templates, rng)
            room = MOST - len(template.split())
            return first_words(template.format_map(_Fields(document, match, room)), MOST)
    return ""


class _Fields(dict[str, str]):
    """A template's fields: a pattern's groups, cut short, and what follows from them."""

    def __init__(self, document: Prepared, match: re.Match[str], room: int) -> None:
        super().__init__()
        self._document, self._match, self._room = document, match, room

    def __missing__(self, key: str) -> str:
        groups = self._match.groupdict()
        if key in groups:
            return self._short(key, groups[key] or "")
        return str(getattr(self, f"_{key}")())

    def _short(self, key: str, text: str) -> str:
        """A group cut short; the subject by its name, where it is a longer form of it."""
        name = self._document.name
        named = key == "x" and name and name.split()[-1] in text.split()
        return name if named else short(text, self._room)

    def _name(self) -> str:
        return self._document.name or "it"

    def _who(self) -> str:
        return "who" if sort_of(self._document) == "person" else "what"

    def _is(self) -> str:
        return self._match["be"] or ("was" if self._match["v"] in ("born", "held") else "is")

    def _does(self) -> str:
        return "did" if sort_of(self._document) in ("person", "event") else "does"

    def _base(self) -> str:
        return base(self._match["v"])

    def _past(self) -> str:
        return PAST_OF_PARTICIPLE.get(self._match["v"], self._match["v"])

    def _last(self) -> str:
        """The noun of a phrase, most likely: its last word before a preposition."""
        words = re.split(r" (?:of|in|by|for|from|at|on|to|with|who|that)\b", self["y"])[0].split()
        return words[-1] if words else "thing"


def _tells(asked: str, document: Prepared) -> bool:
    """Whether there is a question, with enough words to find the document by."""
    named = bool(document.name) and document.name in asked
    return named or len(content_words(asked)) >= TELLING


def _loose(document: Prepared, sentence: str, rng: np.random.Generator) -> str:
    named = content_words(document.name)
    words = [word for word in dict.fromkeys(content_words(sentence)) if word not in named]
    size = 1 + int(rng.random() * 4)
    lengths = np.fromiter((min(len(word), 8) for word in words), np.float64, len(words))
    chosen = " ".join(words[i] for i in sorted(weighted(lengths, size, rng)))
    about = f"{document.name} {chosen}".strip()
    return f"{pick(_QUESTION_WORDS, rng)} {about}" if about else ""
