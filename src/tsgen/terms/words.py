"""A text as words: what a term is made of, with one spelling for each word.

The rules, in order:

- `U.S.A.` is one word, `usa`; `3.14` stays, `1,000` becomes `1000`;
- letters, marks and digits in a row are a word; a hyphen ends it, so `well-known` and `well known`
  give the same two words; an apostrophe joins, `O’Neill` → `oneill`, and a final `'s` is dropped;
- scripts that do not space their words (Han, Kana, Thai, Lao, Khmer, Burmese) fall back to
  overlapping pairs of characters, the usual choice where no dictionary is at hand;
- a spelling is compatibility-composed (NFKC), case-folded and without diacritics (`Café` → `cafe`).

With `ngrams` > 1, runs of up to that many words between punctuation are terms too, unless they
start or end with a stop word. With `stem`, words of one stem are one term (`Splitter.key`).
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

import regex
import Stemmer
from pydantic import Field, field_validator

from tsgen.config import StageConfig
from tsgen.errors import nearest

ENGLISH_STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before
    being below between both but by can could did do does doing done dont down during each either
    else ever every few for from further had has have having he her here hers herself him himself
    his how i if in into is isnt it its itself just let many may me might more most much must my
    myself no nor not now of off on once one only or other our ours ourselves out over own per same
    she should since so some such than that the their theirs them themselves then there these they
    this those though through to too under until up upon very was we were what when where whether
    which while who whom whose why will with within without would you your yours yourself""".split()
)

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LETTER = rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]"
_INNER = rf"[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]"
_UNICODE_WORD = regex.compile(
    rf"(?:\p{{L}}\.){{2,}}|\p{{Nd}}+(?:[.,]\p{{Nd}}+)+(?!{_INNER})"
    rf"|{_LETTER}{_INNER}*(?:['’ʼ]{_INNER}+)*|[{_UNSPACED}][{_UNSPACED}\p{{M}}]*",
    regex.V1,
)
_ASCII_WORD = re.compile(
    r"(?:[a-zA-Z]\.){2,}|\d+(?:[.,]\d+)+(?![a-zA-Z0-9])|[a-zA-Z0-9]+(?:'[a-zA-Z0-9]+)*", re.ASCII
)
_HAS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")
_GAP = re.compile(r"[-‐‑\s]*")  # what may stand between the words of one n-gram
_DIACRITICS = dict.fromkeys(range(0x0300, 0x0370))


class WordsConfig(StageConfig):
    """How a text becomes words."""

    stop_words: Literal["english", "none"] = "english"
    stem: str = "english"  # a Snowball language, or "none"
    ngrams: int = Field(default=1, ge=1, le=5)

    @field_validator("stem")
    @classmethod
    def _known_language(cls, value: str) -> str:
        languages = ["none", *Stemmer.algorithms()]
        if value not in languages:
            raise ValueError(f"unknown stemmer {value!r}; {nearest(value, languages)}")
        return value


class Word(NamedTuple):
    """A word in its one spelling, and where in the text it stands."""

    text: str
    start: int
    end: int


class Splitter:
    """Splits texts into words as its settings say."""

    def __init__(self, config: WordsConfig | None = None) -> None:
        self.config = config or WordsConfig()
        self._stop = ENGLISH_STOP_WORDS if self.config.stop_words == "english" else frozenset()
        stemmed = self.config.stem != "none"
        self._stem = Stemmer.Stemmer(self.config.stem).stemWord if stemmed else None
        self._keys = lru_cache(maxsize=2**19)(self._key)  # a corpus asks again for the same words

    def split(self, text: str) -> list[Word]:
        """The words of a text in order, without stop words, then its n-grams."""
        words = list(_words(text))
        kept = [word for word in words if word.text not in self._stop]
        return kept + (self._ngrams(text, words) if self.config.ngrams > 1 else [])

    def spellings(self, text: str) -> list[str]:
        """`split` without the positions; much faster on plain text."""
        plain = text.isascii()
        if self.config.ngrams > 1 or (not plain and _HAS_UNSPACED.search(text)):
            return [word.text for word in self.split(text)]
        found = map(normalise, (_ASCII_WORD if plain else _UNICODE_WORD).findall(text))
        return [word for word in found if word and word not in self._stop]

    def key(self, word: str) -> str:
        """The group a word belongs to: its stem (of an n-gram: its words' stems), or itself."""
        return word if self._stem is None else self._keys(word)

    def keys(self, text: str) -> list[str]:
        """The groups that the words of a text belong to, each once, in order."""
        return list(dict.fromkeys(map(self.key, self.spellings(text))))

    def _key(self, word: str) -> str:
        assert self._stem is not None
        return " ".join(self._stem(part) for part in word.split(" "))

    def _ngrams(self, text: str, words: list[Word]) -> list[Word]:
        found = []
        for first in range(len(words)):
            for last in range(first + 1, min(first + self.config.ngrams, len(words))):
                if _GAP.fullmatch(text, words[last - 1].end, words[last].start) is None:
                    break
                ends = {words[first].text, words[last].text}
                if not ends & self._stop:
                    parts = (word.text for word in words[first : last + 1])
                    found.append(Word(" ".join(parts), words[first].start, words[last].end))
        return found


@lru_cache(maxsize=2**19)
def normalise(raw: str) -> str:
    """The one spelling of a word as it was found in a text."""
    word = raw.replace("’", "'").replace("ʼ", "'").casefold()
    if not word.isascii():
        folded = unicodedata.normalize("NFKC", word).casefold()
        stripped = unicodedata.normalize("NFD", folded).translate(_DIACRITICS)
        word = unicodedata.normalize("NFC", stripped)
    word = word.removesuffix("'s").replace("'", "").replace(",", "")
    return word.replace(".", "") if not word[:1].isdigit() else word


def _words(text: str) -> Iterator[Word]:
    """All words, stop words included."""
    pattern = _ASCII_WORD if text.isascii() else _UNICODE_WORD
    for match in pattern.finditer(text):
        raw, start = match.group(), match.start()
        if not raw.isascii() and _HAS_UNSPACED.match(raw):
            for i in range(max(len(raw) - 1, 1)):
                pair = raw[i : i + 2]
                yield Word(normalise(pair), start + i, start + i + len(pair))
        elif word := normalise(raw):
            yield Word(word, start, match.end())
