"""Lexical search: BM25 over stemmed words, for the baseline, hard negatives and the round trip.

Tokenisation and scores are those of bm25s. The search is our own, because ties must be broken by
document order and a document that shares no word with the query is no hit.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, Self

import bm25s
import numpy as np
import orjson
import Stemmer
from bm25s.stopwords import STOPWORDS_EN
from numpy.typing import NDArray
from pydantic import Field, field_validator

from tsgen.config import StageConfig
from tsgen.errors import nearest
from tsgen.progress import show

SETTINGS, WORDS, ARRAYS = "settings.json", "words.json", ("offsets", "documents", "scores")
NO_DOCUMENT = -1
METHOD = "lucene"  # which of the formulas known as BM25
_split = re.compile(r"\b\w\w+\b").findall


class LexicalConfig(StageConfig):
    """How words are made from a text and how BM25 weighs them; the defaults are bm25s' own."""

    k1: float = Field(1.5, ge=0)
    """How slowly a word's repetition stops to count."""

    b: float = Field(0.75, ge=0, le=1)
    """How much long documents are held back; 0: not at all."""

    stemmer: str = "english"
    """The language of the Snowball stemmer, such as `german`; `none`: words stay as they are."""

    stop_words: Literal["en", "none"] = "en"
    """Which words are left out: the frequent ones of English, or none."""

    @field_validator("stemmer")
    @classmethod
    def _known(cls, name: str) -> str:
        known = ["none", *Stemmer.algorithms()]
        if name not in known:
            raise ValueError(f"no such stemmer; {nearest(name, known)}")
        return name


class _WordIds(dict[str, int]):
    """The id of each word's stem, computed once for each word; a stop word has the id −1."""

    def __init__(self, config: LexicalConfig) -> None:
        super().__init__()
        self.stem = _stemmer(config)
        self.stop_words = frozenset(STOPWORDS_EN if config.stop_words == "en" else ())
        self.stems: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        stop = word in self.stop_words
        found = -1 if stop else self.stems.setdefault(self.stem(word), len(self.stems))
        self[word] = found
        return found

    def read(self, text: str) -> list[int]:
        """A document's words as ids; new stems get the next id."""
        return [found for word in _split(text.lower()) if (found := self[word]) >= 0]

    def look_up(self, text: str) -> list[int]:
        """A query's words as ids; words that no document has are left out."""
        words = (word for word in _split(text.lower()) if word not in self.stop_words)
        return [found for word in words if (found := self.stems.get(self.stem(word))) is not None]


class LexicalIndex:
    """BM25 scores of every (word, document) pair, as postings sorted by word, then document.

    Word w occurs in `documents[offsets[w]:offsets[w + 1]]`, with the BM25 summands in `scores`.
    """

    def __init__(
        self,
        config: LexicalConfig,
        words: _WordIds,
        arrays: dict[str, NDArray[np.generic]],
        size: int,
    ) -> None:
        self.config = config
        self.size = size
        self._words = words
        self._arrays = arrays

    @classmethod
    def build(cls, texts: Iterable[str], config: LexicalConfig | None = None) -> Self:
        """Index a stream of texts; only their word ids are held, never the texts."""
        return next(cls.build_each(texts, [config or LexicalConfig()]))

    @classmethod
    def build_each(cls, texts: Iterable[str], configs: Sequence[LexicalConfig]) -> Iterator[Self]:
        """Build an index for each of some settings that differ in k1 or b alone, reading the texts
        once."""
        words = _WordIds(configs[0])
        documents = []
        for text in texts:
            documents.append(words.read(text))
            if len(documents) % 1000 == 0:
                show("lexical index: documents", len(documents))
        for config in configs:
            yield cls(config, words, _weigh(documents, len(words.stems), config), len(documents))

    def top_k(
        self, queries: Sequence[str], k: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Positions and scores [Q, k] of the best documents, ties in document order.

        A row with fewer than k documents that share a word with the query ends in −1, with score 0.
        """
        positions = np.full((len(queries), k), NO_DOCUMENT, dtype=np.int32)
        scores = np.zeros((len(queries), k), dtype=np.float32)
        for row, query in enumerate(queries):
            best, values = self._search(self._words.look_up(query), k)
            positions[row, : len(best)] = best
            scores[row, : len(best)] = values
        return positions, scores

    def scores(self, query: str) -> NDArray[np.float32]:
        """[D] the score of every document; 0 where it shares no word with the query."""
        return self._totals(self._words.look_up(query))

    def _search(self, ids: list[int], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        totals = self._totals(ids)
        best = top_documents(totals, k)
        return best, totals[best]

    def _totals(self, ids: list[int]) -> NDArray[np.float32]:
        offsets, documents = self._arrays["offsets"], self._arrays["documents"]
        totals = np.zeros(self.size, dtype=np.float32)
        for word in ids:
            postings = slice(offsets[word], offsets[word + 1])
            totals[documents[postings]] += self._arrays["scores"][postings]
        return totals

    def save(self, folder: Path) -> None:
        """Write the index into an existing folder: JSON and npy, no pickle."""
        settings = {"size": self.size, "config": self.config.model_dump()}
        (folder / SETTINGS).write_bytes(orjson.dumps(settings))
        (folder / WORDS).write_bytes(orjson.dumps(list(self._words.stems)))
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", self._arrays[name], allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open what `save` wrote; the postings are memory-mapped."""
        settings = orjson.loads((folder / SETTINGS).read_bytes())
        config = LexicalConfig.from_mapping(settings["config"], source=f"{folder / SETTINGS}")
        words = _WordIds(config)
        stems = orjson.loads((folder / WORDS).read_bytes())
        words.stems = {stem: number for number, stem in enumerate(stems)}
        arrays = {name: _map(folder / f"{name}.npy") for name in ARRAYS}
        return cls(config, words, arrays, settings["size"])


def top_documents(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """The documents with the k largest positive scores [n], best first, ties in document order."""
    found = np.flatnonzero(scores > 0)
    if len(found) > k:
        values = scores[found]
        found = found[values >= np.partition(values, -k)[-k]]  # k or more: ties at the edge
    return found[np.argsort(-scores[found], kind="stable")[:k]]


def _map(path: Path) -> NDArray[np.generic]:
    """A file's array, memory-mapped; a plain view, because slicing a `memmap` is slow."""
    return np.asarray(np.load(path, mmap_mode="r"))


def _stemmer(config: LexicalConfig) -> Callable[[str], str]:
    if config.stemmer == "none":
        return str
    stem: Callable[[str], str] = Stemmer.Stemmer(config.stemmer).stemWord
    return stem


def _weigh(
    documents: list[list[int]], vocabulary: int, config: LexicalConfig
) -> dict[str, NDArray[np.generic]]:
    """The postings and BM25 summands of tokenised documents."""
    if not vocabulary:  # no document has a word: bm25s would divide by zero
        empty = np.empty(0, np.int32), np.empty(0, np.float32)
        return dict(zip(ARRAYS, (np.zeros(1, np.int64), *empty), strict=True))
    bm25 = bm25s.BM25(k1=config.k1, b=config.b, method=METHOD)
    made = bm25.build_index_from_ids(range(vocabulary), documents, show_progress=False)
    return dict(zip(ARRAYS, (made["indptr"], made["indices"], made["data"]), strict=True))
