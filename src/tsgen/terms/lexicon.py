"""The words of a collection, to read a misspelt query by.

A word that no document has, one edit away from a word that some have, is read as that word: as the
one that most documents have. An edit is a letter put in, left out or replaced, or two transposed.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Self

import orjson

from tsgen.records import Document
from tsgen.terms.words import ENGLISH_STOP_WORDS, Splitter, WordsConfig

FILE = "lexicon.json"
SHORTEST = 4  # letters of a word that is corrected: a shorter one is near to too many others
ALL_WORDS = WordsConfig(stop_words="none", stem="none")
LETTERS = 64  # the commonest of the collection: those that an edit puts in


class Lexicon:
    """How many documents have each word."""

    def __init__(self, frequencies: Mapping[str, int]) -> None:
        self._frequencies, self._more = frequencies, Counter[str]()
        letters = Counter(letter for word in frequencies for letter in word)
        self._letters = "".join(sorted(letter for letter, _ in letters.most_common(LETTERS)))
        self._splitter = Splitter(ALL_WORDS)

    def __contains__(self, word: str) -> bool:
        return word in self._frequencies or word in self._more

    def correct(self, query: str, known: Container[str] = ()) -> str:
        """The query with every word that neither a document nor `known` has read as another one, if
        one is near."""
        read, end = "", 0
        for word in self._splitter.split(query):
            near = self.nearest(word.text)
            if near is not None and word.text not in known:
                read += query[end : word.start] + near
                end = word.end
        return read + query[end:]

    def nearest(self, word: str) -> str | None:
        """The word for one that no document has; stop words only if there is no other."""
        if len(word) < SHORTEST or not word.isalpha() or word in self:
            return None
        near = {other for other in edits(word, self._letters) if other in self}
        telling = near - ENGLISH_STOP_WORDS or near
        return max(telling, key=lambda other: (self._frequency(other), other), default=None)

    def with_words(self, words: Iterable[str]) -> "Lexicon":
        """With those of more documents; nothing is copied."""
        grown = copy(self)
        grown._more = self._more + Counter(words)
        return grown

    def save(self, folder: Path) -> None:
        """Write the words and their frequencies."""
        words = Counter(self._frequencies) + self._more
        (folder / FILE).write_bytes(orjson.dumps(words, option=orjson.OPT_SORT_KEYS))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What `save` wrote; without words, where nothing was written."""
        path = folder / FILE
        return cls(orjson.loads(path.read_bytes()) if path.is_file() else {})

    def _frequency(self, word: str) -> int:
        return self._frequencies.get(word, 0) + self._more[word]


class Counting:
    """Counts the words of documents that pass by."""

    def __init__(self) -> None:
        self.frequencies: Counter[str] = Counter()

    def passing(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents, as they come."""
        splitter = Splitter(ALL_WORDS)
        for document in documents:
            words = set(splitter.spellings(document.contents))
            self.frequencies.update(filter(str.isalpha, words))
            yield document


def edits(word: str, letters: str) -> Iterator[str]:
    """Everything one edit away, some of it more than once."""
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        yield from (before + letter + after for letter in letters)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in letters)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
