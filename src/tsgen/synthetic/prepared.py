"""A document split once for many pseudo-queries, and queries that are a piece of its text."""

import re
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tsgen.queries.pairs import sentences
from tsgen.records import Document
from tsgen.synthetic.english import pick
from tsgen.terms.words import ENGLISH_STOP_WORDS, Splitter, normalise

# Cutting running text to the length of a query.

_RELATIVE = (
    r"[,;:，；：、]|\s[–—-]\s|\s(?=(?:but|which|who|whose|where|when|while|because|although)\b"
)
_FIRST_END = re.compile(rf"{_RELATIVE})")
_CLAUSE_END = re.compile(rf"{_RELATIVE}|\s(?=(?:and|that|as|or)\b))")
_EDGES = " \t\"'`“”‘’«».,;:!?。！？…-–—/"


def clause(text: str, most: int, least: int = 4) -> str:
    """Cut a text to at most `most` words: after its last clause that ends within them and leaves at
    least `least` words, or else after `most` words. English stop words at the end are removed."""
    words = text.split()
    if len(words) > most:
        head = " ".join(words[:most])
        ends = [match.start() for match in _CLAUSE_END.finditer(head)]
        long_enough = [end for end in ends if head.count(" ", 0, end) + 1 >= least]
        words = (head[: long_enough[-1]] if long_enough else head).split()
        words = _without_loose_end(words)
    return " ".join(words).strip(_EDGES)


def first_words(text: str, most: int) -> str:
    """The first `most` words of a text; if any are cut off, stop words at the end go, too."""
    words = text.split()
    return " ".join(words if len(words) <= most else _without_loose_end(words[:most]))


def short(text: str, most: int) -> str:
    """The first clause of a text, at most `most` words."""
    match = _FIRST_END.search(text)
    return first_words(text[: match.start()] if match else text, most).strip(_EDGES)


def _without_loose_end(words: list[str]) -> list[str]:
    end = len(words)
    while end > 1 and words[end - 1].lower().strip(_EDGES) in ENGLISH_STOP_WORDS:
        end -= 1
    return words[:end]


# A document that is split once, however many queries are made of it.

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
    """A document's title, sentences and content words; each is computed when it is first used."""

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
        """The first sentence without its parentheses."""
        return without_parentheses(self.sentences[0]) if self.sentences else ""

    @cached_property
    def weights(self) -> dict[str, float]:
        """The distinct content words of the title and the beginning of the text, in order, each
        with a weight that estimates how specific it is without statistics of a corpus.

        The weight grows with the word's length and frequency; it is higher for names, for words of
        the title and of the first sentence, and lower for dates.
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
        """[W] the weights of the content words as an array."""
        return np.fromiter(self.weights.values(), np.float64, len(self.weights))

    def some_sentence(self, rng: np.random.Generator) -> str:
        """Draw a sentence, the first one more often than others; empty where there is none."""
        if not self.sentences or rng.random() < LEAD_SHARE:
            return self.lead
        return without_parentheses(pick(self.sentences, rng))


def content_words(text: str) -> list[str]:
    """The normalised words of a text in order, without English stop words."""
    return _SPLITTER.spellings(text)


def without_parentheses(text: str) -> str:
    """Remove parentheses and brackets, with their contents, from a text."""
    if "(" in text or "[" in text:
        while (shorter := _PARENTHESES.sub(_gap, text)) != text:  # from the innermost outwards
            text = shorter
    return text


def _gap(match: re.Match[str]) -> str:
    return " " if match["apart"] is None else ""


def _beginning(text: str) -> str:
    """The first `READ` characters of a text without a half word at the end."""
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
    """A sentence of the text, cut to at most 14 words at the end of a clause. An English pronoun at
    its beginning is replaced by the title or removed."""
    found = document.some_sentence(rng)
    return clause(with_subject(found, document.name if rng.random() < 0.6 else ""), WORDS)


def with_subject(text: str, name: str) -> str:
    """Replace the pronoun at the beginning of a sentence: `It is hot` → `Mercury is hot`; an empty
    name removes it. The same happens to `The planet` before a verb, and `His father` becomes
    `Mercury father`, as people type it."""
    match = _PRONOUN.match(text) or _OWNER.match(text) or _SORT.match(text)
    return f"{name} {text[match.end() :]}".strip() if match else text
