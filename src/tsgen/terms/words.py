"""Splitting a text into words, of which terms are made, with one spelling for each word.

The rules, in order:

- `U.S.A.` is one word, `usa`; `3.14` stays, `1,000` becomes `1000`;
- letters, marks and digits in a row are a word; a hyphen ends it, so `well-known` and `well known`
  give the same two words; an apostrophe joins, `O’Neill` → `oneill`, and a final `'s` is dropped;
- scripts that do not space their words (Han, Kana, Thai, Lao, Khmer, Burmese) fall back to
  overlapping pairs of characters, the usual choice where no dictionary is at hand;
- a spelling is compatibility-composed (NFKC), case-folded and without diacritics (`Café` → `cafe`).

With `split = "spaces"`, a word is instead all that stands between two spaces, without the
punctuation around it: `well-known` is one word then. Unspaced scripts and spellings stay the same.

With `ngrams` > 1, runs of up to that many words between punctuation are terms too, unless they
start or end with a stop word. With `stem`, words of one stem are one term (`Splitter.key`).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Set
from copy import copy
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import orjson
import regex
import Stemmer

from tsgen.records import Document
from tsgen.settings import WordsConfig

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
    rf"(?:\p{{L}}\.){{2,}}|\p{{Nd}}+(?:[.,]\p{{Nd}}+){{1,20}}(?!{_INNER})"
    rf"|{_LETTER}{_INNER}*(?:['’ʼ]{_INNER}+)*|[{_UNSPACED}][{_UNSPACED}\p{{M}}]*",
    regex.V1,
)
_ASCII_WORD = re.compile(
    r"(?:[a-zA-Z]\.){2,}|\d+(?:[.,]\d+){1,20}(?![a-zA-Z0-9])|[a-zA-Z0-9]+(?:'[a-zA-Z0-9]+)*",
    re.ASCII,
)
_BETWEEN_SPACES = regex.compile(r"[\p{L}\p{N}](?:\S*[\p{L}\p{N}\p{M}])?")
_HAS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")
_GAP = re.compile(r"[-‐‑\s]*")  # what may stand between the words of one n-gram
_DIACRITICS = dict.fromkeys(range(0x0300, 0x0370))


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
        # A corpus asks again for the same words.
        self._keys = lru_cache(maxsize=2**19)(self._key)
        self._key_of_raw = lru_cache(maxsize=2**17)(self._key_of_found)

    def split(self, text: str) -> list[Word]:
        """The words of a text in order, without stop words, then its n-grams."""
        words = list(self._words(text))
        kept = [word for word in words if word.text not in self._stop]
        return kept + (self._ngrams(text, words) if self.config.ngrams > 1 else [])

    def spellings(self, text: str) -> list[str]:
        """`split` without the positions; much faster on plain text."""
        plain = text.isascii()
        if self.config.ngrams > 1 or (not plain and _HAS_UNSPACED.search(text)):
            return [word.text for word in self.split(text)]
        found = map(normalise, self._pattern(plain).findall(text))
        return [word for word in found if word and word not in self._stop]

    def key(self, word: str) -> str:
        """The group a word belongs to: its stem (of an n-gram: its words' stems), or itself."""
        return word if self._stem is None else self._keys(word)

    def keys(self, text: str) -> list[str]:
        """The groups that the words of a text belong to, each once, in order."""
        return list(dict.fromkeys(map(self.key, self.spellings(text))))

    def places(self, text: str, keys: Set[str]) -> list[tuple[int, int, str]]:
        """Where the words with one of these keys begin and end in a text, each with its key."""
        plain = text.isascii()
        if self.config.ngrams > 1 or (not plain and _HAS_UNSPACED.search(text)):
            found = ((word.start, word.end, self.key(word.text)) for word in self.split(text))
            return [place for place in found if place[2] in keys]
        return [
            (*word.span(), key)
            for word in self._pattern(plain).finditer(text)
            if (key := self._key_of_raw(word.group())) is not None and key in keys
        ]

    def _key_of_found(self, raw: str) -> str | None:
        """The key of a word as it was found in a text; None for a stop word."""
        word = normalise(raw)
        return self.key(word) if word and word not in self._stop else None

    def _key(self, word: str) -> str:
        assert self._stem is not None
        return " ".join(self._stem(part) for part in word.split(" "))

    def _pattern(self, plain: bool) -> Any:
        """What finds the words of a text, which is `plain` if it is ASCII."""
        if self.config.split == "spaces":
            return _BETWEEN_SPACES
        return _ASCII_WORD if plain else _UNICODE_WORD

    def _words(self, text: str) -> Iterator[Word]:
        """All words, stop words included."""
        pattern = self._pattern(text.isascii())
        for match in pattern.finditer(text):
            raw, start = match.group(), match.start()
            if raw.isascii() or not _HAS_UNSPACED.search(raw):
                if word := normalise(raw):
                    yield Word(word, start, match.end())
            elif pattern is _UNICODE_WORD:
                yield from _pairs(raw, start)
            else:
                for part in _UNICODE_WORD.finditer(text, start, match.end()):
                    yield from _pairs(part.group(), part.start())

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


def _pairs(raw: str, start: int) -> Iterator[Word]:
    """The overlapping pairs of characters of an unspaced run that was found at `start`; any other
    word as it is."""
    if not _HAS_UNSPACED.match(raw):
        if word := normalise(raw):
            yield Word(word, start, start + len(raw))
        return
    for i in range(max(len(raw) - 1, 1)):
        pair = raw[i : i + 2]
        yield Word(normalise(pair), start + i, start + i + len(pair))


# Looking up the terms that the words of a query stand for: those with the same key (stem).


class TermsByKey(Protocol):
    """The terms of each key."""

    def get(self, key: str, default: list[str], /) -> list[str]:
        """The terms with a key, in ascending order."""
        ...


class Lookup:
    """Finds the terms that are words of a query, however the query spells them."""

    def __init__(
        self, splitter: Splitter, terms: Iterable[str], known: TermsByKey | None = None
    ) -> None:
        """Sort terms by their keys, unless they are `known` by these already."""
        self._splitter = splitter
        self._known: TermsByKey = self._by_key(terms) if known is None else known
        self._more = dict[str, list[str]]()

    def __call__(self, query: str) -> list[str]:
        """The terms that are words of a query, each once."""
        return [term for key in self.keys(query) for term in self.terms(key)]

    def keys(self, query: str) -> list[str]:
        """The keys of a query's words, each once."""
        return self._splitter.keys(query)

    def with_terms(self, terms: Iterable[str]) -> "Lookup":
        """Return a lookup that also knows these terms, in place of those that an earlier call
        added. The original terms are shared, not copied."""
        grown = copy(self)
        grown._more = self._by_key(terms)
        return grown

    def terms(self, key: str) -> list[str]:
        """The terms with a key."""
        return self._known.get(key, []) + self._more.get(key, [])

    def _by_key(self, terms: Iterable[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for term in terms:
            found.setdefault(self._splitter.key(term), []).append(term)
        return found


# Spelling correction of queries by the words of the collection.
#
# A query word that is in no dictionary is replaced by a word of the documents that is one edit away
# from it; of several, by the one that most documents have. An edit is a letter put in, left out or
# replaced, or two letters transposed. The dictionaries are the documents' words and those that the
# caller knows, with their regular English inflections, and a list of 82,834 English words. What may
# be code, a contraction or an acronym is never touched: see `correctable`.

FILE = "lexicon.json"
SHORTEST = 4  # letters of a word that is corrected: a shorter one is near to too many others
LONGEST = 40  # letters of one: a longer one is no word, and has too many neighbours to try
ALL_WORDS = WordsConfig(stop_words="none", stem="none")
LETTERS = 64  # the commonest of the collection: those that an edit puts in

_LOWER = rf"[[\p{{L}}\p{{M}}]--[\p{{Lu}}\p{{Lt}}{_UNSPACED}]]"
_PART = rf"[\p{{L}}--[{_UNSPACED}]]{_LOWER}*"
_PROSE = regex.compile(
    rf"""(?<!\S)["“„«(\[{{]*({_PART}(?:[-‐‑]{_LOWER}+)*)["”»)\]}}.,;:!?…]*(?!\S)""", regex.V1
)
_HYPHENED = regex.compile(_PART, regex.V1)

PREFIXES = """re un pre non de dis mis over under sub super inter multi anti micro semi
    pseudo post""".split()
ENDINGS = {  # English endings, and what may stand in their place in the word without them
    r"(?<!s)s": [""],
    r"(?<=[sxz]|[cs]h)es": [""],
    r"ies|ied|iers?|iest|ily|iness": ["y"],
    r"ed|ing|ers?|est|able": ["e"],
    r"(?<=....)(?:ed|ing|ers?|est|able)": [""],  # not bra, braed
    r"(?<=[aeiou]([bdgklmnprtv]))\1(?:ed|ing|ers?|est|able)": [""],  # run, running
    r"ly|ness|less": [""],
    r"bly": ["ble"],
    r"ically": ["ic"],
}
_ENDINGS = [(regex.compile(f"(?:{ending})$"), others) for ending, others in ENDINGS.items()]


def correctable(query: str) -> Iterator[Word]:
    """The words of a query that correction may change: of 4 to 40 letters, in tokens that are
    made of small letters and hyphens but for a first capital and punctuation around them.

    All others stand as they are: contractions (`isn't`), and what looks like code, a path or an
    acronym (`os.path`, `max_len`, `utf8`, `-x`, `DataFrame`, `f(x)`).
    """
    for token in _PROSE.finditer(query):
        for part in _HYPHENED.finditer(query, *token.span(1)):
            word = normalise(part.group())
            if SHORTEST <= len(word) <= LONGEST:
                yield Word(word, *part.span())


@lru_cache(maxsize=1)
def english_words() -> frozenset[str]:
    """The commonest English words, from the list that the package symspellpy carries."""
    listed = files("symspellpy") / "frequency_dictionary_en_82_765.txt"
    lines = listed.read_text(encoding="utf-8-sig").splitlines()
    return frozenset(line.split(" ", 1)[0] for line in lines)


def base_forms(word: str) -> Iterator[str]:
    """The words that a word may be a regular English inflection of, the word itself first:
    `retraining` of `retrain`, `training`, `train`, among others."""
    bare = (word[len(one) :] for one in PREFIXES if word.startswith(one))
    for form in (word, *(rest for rest in bare if len(rest) >= SHORTEST)):
        yield form
        yield from _without_ending(form)


def _without_ending(word: str) -> Iterator[str]:
    for ending, others in _ENDINGS:
        if (found := ending.search(word)) and found.start() >= SHORTEST - 1:
            yield from (word[: found.start()] + other for other in others)


class Lexicon:
    """The collection's words with the number of documents that have each."""

    def __init__(self, frequencies: Mapping[str, int]) -> None:
        self._frequencies, self._more = frequencies, Counter[str]()
        self._gone = Counter[str]()
        letters = Counter(letter for word in frequencies for letter in word)
        self._letters = "".join(sorted(letter for letter, _ in letters.most_common(LETTERS)))

    def __contains__(self, word: str) -> bool:
        return self._frequency(word) > 0

    def correct(self, query: str, known: Container[str] = ()) -> str:
        """Replace the words of a query that are in no dictionary by the nearest word of the
        documents, if there is one within one edit.

        Args:
            query: What someone typed.
            known: Words that are right although no document has them.
        """
        read, end = "", 0
        for word in correctable(query):
            near = None if self._is_right(word.text, known) else self.nearest(word.text)
            if near is not None:
                read += query[end : word.start] + near
                end = word.end
        return read + query[end:]

    def _is_right(self, word: str, known: Container[str]) -> bool:
        """Whether a word is in a dictionary. Those of inflections are the documents' words and
        `known`: the English list has its inflections, and of its rare words many a typo is one."""
        if word in self or word in known:  # as most words are
            return True
        if any(form in self or form in known for form in base_forms(word)):
            return True
        return word in english_words()

    def nearest(self, word: str) -> str | None:
        """The correction of a word that no document has, or None. A stop word is a correction only
        if no other word is within one edit."""
        if len(word) < SHORTEST or not word.isalpha() or word in self:
            return None
        near = {other for other in edits(word, self._letters) if other in self}
        telling = near - ENGLISH_STOP_WORDS or near
        return max(telling, key=lambda other: (self._frequency(other), other), default=None)

    def with_words(self, words: Iterable[str], gone: Iterable[str] = ()) -> "Lexicon":
        """Return a lexicon that also counts the words of more documents, and no longer those of
        documents that are `gone`; this one stays as it is."""
        grown = copy(self)
        grown._more = self._more + Counter(words)
        grown._gone = self._gone + Counter(gone)
        return grown

    def save(self, folder: Path) -> None:
        """Write the words and their frequencies."""
        words = Counter(self._frequencies) + self._more - self._gone
        (folder / FILE).write_bytes(orjson.dumps(words, option=orjson.OPT_SORT_KEYS))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote."""
        return cls(orjson.loads((folder / FILE).read_bytes()))

    @cached_property
    def _letters(self) -> str:
        """The commonest letters, which no query without an error asks for."""
        letters = Counter(letter for word in self._frequencies for letter in word)
        return "".join(sorted(letter for letter, _ in letters.most_common(LETTERS)))

    def _frequency(self, word: str) -> int:
        return self._frequencies.get(word, 0) + self._more[word] - self._gone[word]


class Counting:
    """Counts the words of a stream of documents while somebody else consumes it."""

    def __init__(self) -> None:
        self.frequencies: Counter[str] = Counter()

    def passing(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Pass the documents on unchanged, counting the words of each."""
        for document in documents:
            self.frequencies.update(words_of(document))
            yield document


_ALL = Splitter(ALL_WORDS)


def words_of(document: Document) -> Iterator[str]:
    """The words of a document that a lexicon counts, each once."""
    return filter(str.isalpha, set(_ALL.spellings(document.contents)))


def edits(word: str, letters: str) -> Iterator[str]:
    """All strings one edit away from a word; some come more than once."""
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        yield from (before + letter + after for letter in letters)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in letters)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
