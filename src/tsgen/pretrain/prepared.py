"""A document made ready to be asked for: split once, used as often as wanted."""

import re
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tsgen.pretrain.draw import pick
from tsgen.queries.sentences import sentences
from tsgen.records import Document
from tsgen.terms.words import Splitter, normalise

LEAD_SHARE = 0.4  # how often a sentence is the first, which says what the document is about
READ = 1500  # characters of a text that keywords come from
LONGEST = 60  # words of a sentence; text without full stops is cut into such pieces
TITLE, LEAD, REST = 8.0, 2.0, 1.0  # what a word weighs in each place
_QUALIFIED = re.compile(r"(?P<name>.*\S)\s*\((?P<qualifier>[^()]+)\)$")
_PARENTHESES = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\])(?P<apart>(?=\s|$|[,.;:!?](?:\s|$)))?")
_NAMES = re.compile(r"(?<!\. )\b[A-ZÀ-ÖØ-Þ]\w*")
_MONTHS = frozenset(
    """january february march april may june july august september october november
    december""".split()
)
_SPLITTER = Splitter()


class Prepared:
    """A document's title, sentences and content words; each is found when first asked for."""

    def __init__(self, document: Document) -> None:
        self.id = document.id
        self.title = " ".join(document.title.split())
        match = _QUALIFIED.match(self.title)
        self.name = match["name"] if match else self.title
        self.qualifier = match["qualifier"] if match else ""
        self._text = document.text

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of the text."""
        return [piece for sentence in sentences(self._text) for piece in _pieces(sentence)]

    @cached_property
    def lead(self) -> str:
        """The first sentence, without what stands in parentheses."""
        return without_parentheses(self.sentences[0]) if self.sentences else ""

    @cached_property
    def weights(self) -> dict[str, float]:
        """The different content words of the title and the beginning of the text in order, with
        how telling each is by its looks and place: nothing of the corpus is needed.

        Long words and names are rarer than others, but for dates; the title and the first sentence
        say what the document is about; a word that is repeated is meant.
        """
        lead = "".join(self.sentences[:1])
        places = (self.title, TITLE), (lead, LEAD), (_beginning(self._text), REST)
        names = {normalise(name) for text, _ in places for name in _NAMES.findall(text)}
        found: dict[str, float] = {}
        for text, weight in places:
            for word in content_words(text):
                found[word] = found.get(word, 0.0) + weight
        return {word: count * _rarity(word, word in names) for word, count in found.items()}

    @cached_property
    def rates(self) -> NDArray[np.float64]:
        """The weights as an array."""
        return np.fromiter(self.weights.values(), np.float64, len(self.weights))

    def some_sentence(self, rng: np.random.Generator) -> str:
        """The first sentence, more often than others, or any; empty where there is none."""
        if not self.sentences or rng.random() < LEAD_SHARE:
            return self.lead
        return without_parentheses(pick(self.sentences, rng))


def content_words(text: str) -> list[str]:
    """A text's words in order, in their one spelling, without the stop words of English."""
    return _SPLITTER.spellings(text)


def without_parentheses(text: str) -> str:
    """A text without what stands in parentheses or brackets."""
    if "(" in text or "[" in text:
        while (shorter := _PARENTHESES.sub(_gap, text)) != text:  # from the innermost outwards
            text = shorter
    return text


def _gap(match: re.Match[str]) -> str:
    return " " if match["apart"] is None else ""


def _beginning(text: str) -> str:
    """The first `READ` characters, and no half word."""
    return text if len(text) <= READ else " ".join(text[:READ].split()[:-1])


def _pieces(sentence: str) -> list[str]:
    if len(sentence) <= 4 * LONGEST:  # hardly so many words
        return [sentence]
    words = sentence.split()
    return [" ".join(words[i : i + LONGEST]) for i in range(0, len(words), LONGEST)]


def _rarity(word: str, named: bool) -> float:
    length = min(len(word), 12)
    if word in _MONTHS or word[0].isdigit():
        return length / 2
    return length * 2.0 if named else float(length)
