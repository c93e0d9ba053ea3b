"""BM25's weight of a word in a document, as a prior that learning corrects.

impact(t, D) = ln(1 + (n − df + ½) / (df + ½)) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |D| / avg))
"""

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import orjson

from tsgen.artifact import write_beside
from tsgen.records import Document
from tsgen.terms.words import Splitter

K1, B = 1.5, 0.75
FILE = "document_frequencies.json"


class Impact:
    """Document frequencies of a corpus; a word it has not seen counts as the rarest."""

    def __init__(self, documents: int, mean_length: float, frequencies: dict[str, int]) -> None:
        self.documents = documents
        self.mean_length = mean_length
        self._frequencies = frequencies

    @classmethod
    def count(cls, texts: Iterable[str], splitter: Splitter) -> "Impact":
        """One pass over a corpus."""
        frequencies: Counter[str] = Counter()
        documents = length = 0
        for text in texts:
            words = splitter.spellings(text)
            frequencies.update({splitter.key(word) for word in set(words)})
            documents, length = documents + 1, length + len(words)
        return cls(documents, length / max(documents, 1), dict(frequencies))

    def idf(self, key: str) -> float:
        """How much a word tells: large for rare words."""
        frequency = self._frequencies.get(key, 0)
        return math.log1p((self.documents - frequency + 0.5) / (frequency + 0.5))

    def of(self, splitter: Splitter, document: Document) -> dict[str, float]:
        """The impact of each word (by key) of a document."""
        counts = Counter(map(splitter.key, splitter.spellings(document.contents)))
        penalty = K1 * (1 - B + B * counts.total() / max(self.mean_length, 1e-9))
        return {k: self.idf(k) * tf * (K1 + 1) / (tf + penalty) for k, tf in counts.items()}

    def save(self, folder: Path) -> None:
        """Write the counts."""
        values = [self.documents, self.mean_length, self._frequencies]
        with write_beside(folder / FILE) as beside:
            beside.write_bytes(orjson.dumps(values, option=orjson.OPT_SORT_KEYS))

    @classmethod
    def load(cls, folder: Path) -> "Impact":
        """Read them back."""
        documents, mean_length, frequencies = orjson.loads((folder / FILE).read_bytes())
        return cls(documents, mean_length, frequencies)
