"""Queries that are a piece of the text, and pronouns that a reader outside it would not know."""

import re
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tsgen.queries.pairs import sentences
from tsgen.records import Document
from tsgen.synthetic.english import pick
from tsgen.terms.words import ENGLISH_STOP_WORDS, Splitter, normalise

# Running text cut to the length of a query.

_RELATIVE = (
    r"[,;:，；：、]|\s[–—-]\s|\s(?=(?:but|which|who|whose|where|when|while|because|although)\b"
)
_FIRST_END = re.compile(rf"{_RELATIVE})")
_CLAUSE_END = re.compile(rf"{_RELATIVE}|\s(?=(?:and|that|as|or)\b))")
_EDGES = " \t\"'`“”‘’«».,;:!?。！？…-–—/"


def clause(text: str, most: int, least: int = 4) -> str:
    """The beginning of a text, at most so many words: up to its last end of a clause among them
    that leaves at least `least`, or else just so many; no stop word of English at its end."""
    words = text.split()
    if len(words) > most:
        head = " ".join(words[:most])
        ends = [match.start() for match in _CLAUSE_END.finditer(head)]
        long_enough = [end for end in ends if head.count(" ", 0, end) + 1 >= least]
        words = (head[: long_enough[-1]] if long_enough else head).split()
        words = _without_loose_end(words)
    return " ".join(words).strip(_EDGES)


def first_words(text: str, most: int) -> str:
    """The first so many words; where some are cut off, no stop word at the end."""
    words = text.split()
    return " ".join(words if len(words) <= most else _without_loose_end(words[:most]))


def short(text: str, most: int) -> str:
    """The beginning of a text up to the first end of a clause, at most so many words."""
    match = _FIRST_END.search(text)
    return first_words(text[: match.start()] if match else text, most).strip(_EDGES)


def _without_loose_end(words: list[str]) -> list[str]:
    end = len(words)
    while end > 1 and words[end - 1].lower().strip(_EDGES) in ENGLISH_STOP_WORDS:
        end -= 1
    return words[:end]


# A document made ready to be asked for: split once, used as often as wanted.

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
