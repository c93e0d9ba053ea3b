"""Term weights: how much each word of a document says about it.

Weights are known by name (`TERM_WEIGHTS`). The ones that need no training are in this file, with
the pass that weighs a whole collection.
"""

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np
import orjson
from numpy.typing import NDArray

from tsgen.arrays import ARRAYS, Strings, offsets_of
from tsgen.artifact import in_pieces, write_beside
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.errors import TsgenError
from tsgen.progress import show
from tsgen.records import Document
from tsgen.registry import Registry
from tsgen.settings import TfidfConfig
from tsgen.terms.words import Splitter


class Weights(Protocol):
    """Weighs the words of documents: those of a collection, and those added to it later."""

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document, in order, its distinct words (surface forms) with weights ≥ 0."""
        ...

    def save(self, folder: Path) -> None:
        """Write into an existing folder what the kind's `load` needs to weigh other documents."""
        ...


@dataclass(frozen=True, slots=True)
class Workspace:
    """What building weights may use: a seed, and a folder for what other stages can share."""

    seed: int = 0
    cache: Path = Path()


@dataclass(frozen=True, slots=True)
class WeightsKind:
    """How to get weights of one kind.

    `build(data, splitter, config, workspace)` may read the corpus, and may train;
    `load(folder, splitter, config)` reads what the weights' `save` wrote.
    """

    name: str
    config: type[StageConfig]
    build: Callable[[DataSet, Splitter, Any, Workspace], Weights]
    load: Callable[[Path, Splitter, Any], Weights]
    trains: bool = False  # uses the training judgments, so the term sets depend on them
    table: str = ""  # of its settings in a file, if that is not its name


TERM_WEIGHTS: Registry[WeightsKind] = Registry(
    "weights",
    "tsgen.term_weights",
    {
        "control": "tsgen.terms.weights",
        "learned": "tsgen.terms.weigher_training",
        "pretrained": "tsgen.terms.shipped_weigher",
        "random": "tsgen.terms.weights",
        "tfidf": "tsgen.terms.weights",
        "title": "tsgen.terms.weights",
    },
)


# The BM25 weight of a word in a document.
#
# impact(t, D) = ln(1 + (n − df + ½) / (df + ½)) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |D| /
# avg))

K1, B = 1.5, 0.75
FREQUENCIES_FILE = "document_frequencies.json"


class Impact:
    """BM25 weights by the document frequencies of a corpus. A word that the corpus does not have
    counts as the rarest."""

    def __init__(self, documents: int, mean_length: float, frequencies: dict[str, int]) -> None:
        self.documents = documents
        self.mean_length = mean_length
        self._frequencies = frequencies

    @classmethod
    def count(cls, texts: Iterable[str], splitter: Splitter) -> "Impact":
        """Count the words of a corpus in one pass."""
        frequencies: Counter[str] = Counter()
        documents = length = 0
        for text in texts:
            words = splitter.spellings(text)
            frequencies.update({splitter.key(word) for word in set(words)})
            documents, length = documents + 1, length + len(words)
        return cls(documents, length / max(documents, 1), dict(frequencies))

    def idf(self, key: str) -> float:
        """The inverse document frequency of a word: large for rare words."""
        frequency = self._frequencies.get(key, 0)
        return math.log1p((self.documents - frequency + 0.5) / (frequency + 0.5))

    def of(self, splitter: Splitter, document: Document) -> dict[str, float]:
        """The BM25 weight of each word (by key) of a document."""
        counts = Counter(map(splitter.key, splitter.spellings(document.contents)))
        penalty = K1 * (1 - B + B * counts.total() / max(self.mean_length, 1e-9))
        return {k: self.idf(k) * tf * (K1 + 1) / (tf + penalty) for k, tf in counts.items()}

    def save(self, folder: Path) -> None:
        """Write the document frequencies into a folder."""
        values = [self.documents, self.mean_length, self._frequencies]
        with write_beside(folder / FREQUENCIES_FILE) as beside:
            beside.write_bytes(orjson.dumps(values, option=orjson.OPT_SORT_KEYS))

    @classmethod
    def load(cls, folder: Path) -> "Impact":
        """Read the document frequencies that `save` wrote."""
        documents, mean_length, frequencies = orjson.loads((folder / FREQUENCIES_FILE).read_bytes())
        return cls(documents, mean_length, frequencies)


def keep_words(folder: Path, keys: Container[str]) -> None:
    """Keep the counts of these words (by key) alone in a folder of saved weights; a document that
    comes later may have others as new ones."""
    path = folder / FREQUENCIES_FILE
    if path.exists():
        impact = Impact.load(folder)
        for key in [key for key in impact._frequencies if key not in keys]:
            del impact._frequencies[key]
        impact.save(folder)
    path = folder / CONTROL_FILE
    if path.exists():
        values = orjson.loads(path.read_bytes())
        values["words"] = [word for word in values["words"] if word in keys]
        path.write_bytes(orjson.dumps(values))


# The weights `tfidf`: no training, two passes over the corpus.


class TfidfWeights:
    """w(t, D) = √idf(t) · tf / (tf + k1 · L) / (1 + lead · ln(1 + first)),
    L = 1 − b + b · |D| / mean |D|,

    where tf counts a word of the title `title_weight` times, |D| is the number of the document's
    words, and `first` is the number of words before t. The root keeps the rarest words, which no
    query has, from taking all the places; where a query's word weighs √idf as well, the product of
    both is BM25. Words are counted by stem, so that inflections add up.
    """

    def __init__(self, splitter: Splitter, impact: Impact, config: TfidfConfig) -> None:
        self._splitter = splitter
        self._impact = impact
        self._config = config
        self._root_idf = lru_cache(maxsize=2**19)(lambda key: math.sqrt(impact.idf(key)))

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document its distinct words; words of one stem weigh the same."""
        for document in documents:
            yield self._weigh(document)

    def save(self, folder: Path) -> None:
        """Write the document frequencies."""
        self._impact.save(folder)

    def _weigh(self, document: Document) -> dict[str, float]:
        title = self._splitter.spellings(document.title)
        words = title + self._splitter.spellings(document.text)
        counts = Counter(words)
        keys = {word: self._splitter.key(word) for word in counts}
        tf: dict[str, float] = dict.fromkeys(keys.values(), 0.0)
        for word, count in counts.items():
            tf[keys[word]] += count
        for word in title:
            tf[keys[word]] += self._config.title_weight - 1
        length = len(words) / max(self._impact.mean_length, 1e-9)
        k1 = self._config.k1 * (1 - self._config.b + self._config.b * length)
        weights = {key: self._root_idf(key) * n / (n + k1) for key, n in tf.items()}
        if self._config.lead:
            self._discount(weights, [keys[word] for word in words])
        return {word: weights[key] for word, key in keys.items()}

    def _discount(self, weights: dict[str, float], keys: Sequence[str]) -> None:
        places = range(len(keys) - 1, -1, -1)
        for key, first in dict(zip(reversed(keys), places, strict=True)).items():
            weights[key] /= 1 + self._config.lead * math.log1p(first)


def build_tfidf(
    data: DataSet, splitter: Splitter, config: TfidfConfig, workspace: Workspace | None = None
) -> TfidfWeights:
    """Make tf-idf weights from the word counts of a data set; the workspace is not used."""
    return TfidfWeights(splitter, Impact.count(_contents(data), splitter), config)


def load_tfidf(folder: Path, splitter: Splitter, config: TfidfConfig) -> TfidfWeights:
    """Read tf-idf weights with the document frequencies that were saved in a folder."""
    return TfidfWeights(splitter, Impact.load(folder), config)


def _contents(data: DataSet) -> Iterator[str]:
    for position, document in enumerate(data.documents()):
        show("counting words", position)
        yield document.contents


TERM_WEIGHTS.register(WeightsKind("tfidf", TfidfConfig, build_tfidf, load_tfidf))


# The weights `title`: the words of the title alone, as in the paper's Table 6.


class TitleConfig(StageConfig):
    """Weights without any settings."""


class TitleWeights:
    """The i-th distinct word of the title weighs 1 / i; no other word can be a term."""

    def __init__(self, splitter: Splitter) -> None:
        self._splitter = splitter

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document the distinct words of its title; words of one stem weigh the same."""
        for document in documents:
            title = self._splitter.spellings(document.title)
            keys = dict.fromkeys(map(self._splitter.key, title))
            place = {key: i for i, key in enumerate(keys, 1)}
            yield {word: 1 / place[self._splitter.key(word)] for word in title}

    def save(self, folder: Path) -> None:
        """Write nothing: a title says all that is needed."""


def _build_title(
    data: DataSet, splitter: Splitter, config: TitleConfig, workspace: Workspace
) -> TitleWeights:
    return TitleWeights(splitter)


def _load_title(folder: Path, splitter: Splitter, config: TitleConfig) -> TitleWeights:
    return TitleWeights(splitter)


TERM_WEIGHTS.register(WeightsKind("title", TitleConfig, _build_title, _load_title))


# The weights `random`, a control in the paper's Table 6: any word of a document may be its term.

SEED = "seed.txt"


class RandomConfig(StageConfig):
    """Nothing to set: the seed is the stage's."""


class RandomWeights:
    """A weight in [0, 1) from a hash of seed, document id and word, whatever their order."""

    def __init__(self, splitter: Splitter, seed: int) -> None:
        self._splitter = splitter
        self._seed = seed

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document its distinct words; words of one stem weigh the same."""
        for document in documents:
            words = set(self._splitter.spellings(document.contents))
            yield {word: self._weight(document.id, self._splitter.key(word)) for word in words}

    def save(self, folder: Path) -> None:
        """Write the seed into a folder."""
        (folder / SEED).write_text(f"{self._seed}\n")

    def _weight(self, document_id: str, key: str) -> float:
        text = f"{self._seed}\x00{document_id}\x00{key}".encode()
        return int.from_bytes(blake2b(text, digest_size=3).digest()) / 2**24  # exact in float32


def _build_random(
    data: DataSet, splitter: Splitter, config: RandomConfig, workspace: Workspace
) -> RandomWeights:
    return RandomWeights(splitter, workspace.seed)


def _load_random(folder: Path, splitter: Splitter, config: RandomConfig) -> RandomWeights:
    return RandomWeights(splitter, int((folder / SEED).read_text()))


TERM_WEIGHTS.register(WeightsKind("random", RandomConfig, _build_random, _load_random))


# The weights `control`, a control for memorisation: random words of the collection that the
# document does not have.
#
# Such an identifier says nothing about its document. What a generator finds by it was learned by
# heart, so a document that no training query asked for is not found.

CONTROL_FILE = "control.json"
CANDIDATES = 128  # words drawn for a document: as many as N and the swaps of uniqueness may need


class ControlConfig(StageConfig):
    """Nothing to set: the seed is the stage's."""


class ControlWeights:
    """Words drawn by a hash of seed and document id; the first drawn weighs most."""

    def __init__(self, splitter: Splitter, words: Sequence[str], seed: int) -> None:
        self._splitter, self._words, self._seed = splitter, words, seed

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document, in order, random words that it does not have, with falling weights."""
        for document in documents:
            own = set(map(self._splitter.key, self._splitter.spellings(document.contents)))
            drawn = [
                word for word in self._drawn(document.id) if self._splitter.key(word) not in own
            ]
            yield {word: 1 - i / CANDIDATES for i, word in enumerate(drawn)}

    def save(self, folder: Path) -> None:
        """Write the words and the seed into a folder."""
        values = {"seed": self._seed, "words": list(self._words)}
        (folder / CONTROL_FILE).write_bytes(orjson.dumps(values))

    def _drawn(self, document_id: str) -> list[str]:
        """Draw different words of the collection, each with the same probability."""
        digest = blake2b(f"{self._seed}\x00{document_id}".encode(), digest_size=8).digest()
        rng = np.random.default_rng(int.from_bytes(digest))
        places = rng.integers(len(self._words), size=CANDIDATES) if self._words else ()
        return [self._words[i] for i in dict.fromkeys(int(place) for place in places)]


def _build_control(
    data: DataSet, splitter: Splitter, config: ControlConfig, workspace: Workspace
) -> ControlWeights:
    """Draw from the words of two documents or more, one spelling for each stem; from all words, if
    there are none such."""
    counts: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for position, document in enumerate(data.documents()):
        show("counting words", position)
        words = sorted(set(splitter.spellings(document.contents)))
        keys = {splitter.key(word): word for word in reversed(words)}
        counts.update(keys.keys())
        for key, word in keys.items():
            spelling.setdefault(key, word)
    shared = [key for key, count in counts.items() if count > 1] or list(counts)
    return ControlWeights(splitter, sorted(spelling[key] for key in shared), workspace.seed)


def _load_control(folder: Path, splitter: Splitter, config: ControlConfig) -> ControlWeights:
    values = orjson.loads((folder / CONTROL_FILE).read_bytes())
    return ControlWeights(splitter, values["words"], values["seed"])


TERM_WEIGHTS.register(WeightsKind("control", ControlConfig, _build_control, _load_control))


# The weighing pass: every document's words and weights as arrays, in pieces that survive a kill.
#
# A piece covers a fixed number of documents and is one file; a second call goes on after the last.

PIECE = 1024  # documents: what a killed run loses at the most
RESERVED = "#"  # no word starts with it
PIECES = "weighed"  # how the files of the pieces begin


@dataclass(frozen=True, slots=True)
class Weighed:
    """The weights of all documents' words: row d holds the distinct words of document d, in no
    particular order."""

    document_ids: list[str]
    offsets: NDArray[np.int64]  # [D + 1]
    word_ids: NDArray[np.int32]  # [E] places in `words`
    weights: NDArray[np.float32]  # [E]
    words: list[str]  # distinct


def reserved_term(document_id: str) -> str:
    """The one term of a document without words: its id, so that it stays reachable and unique."""
    return RESERVED + quote(document_id, safe="")


def weigh_corpus(
    documents: Iterable[Document],
    weights: Weights,
    folder: Path,
    done: Callable[[int], None] = lambda _: None,
    size: int = PIECE,
) -> Weighed:
    """Weigh all documents.

    Args:
        documents: The collection, in order.
        weights: How words are weighed.
        folder: Where finished pieces are kept; a second call goes on after those found there.
        done: Called with the number of documents that are weighed so far.
        size: How many documents a piece has.
    """

    def work(piece: Sequence[Document], first: int) -> dict[str, NDArray[Any]]:
        weighed = weigh_documents(piece, weights)
        done(first + len(piece))
        return _arrays(weighed)

    return _merge([*map(_weighed, in_pieces(documents, work, folder, size, PIECES, ARRAYS))])


def weigh_documents(documents: Sequence[Document], weights: Weights) -> Weighed:
    """Weigh some documents, without pieces on disk."""
    vocabulary: dict[str, int] = {}
    lengths: list[int] = []
    word_ids: list[int] = []
    values: list[float] = []
    for document, found in zip(documents, weights.weigh(documents), strict=True):
        words = found or {reserved_term(document.id): 0.0}
        lengths.append(len(words))
        word_ids.extend([vocabulary.setdefault(word, len(vocabulary)) for word in words])
        values.extend(words.values())
    ids = [document.id for document in documents]
    offsets = offsets_of(np.array(lengths))
    weighed = np.array(values, np.float32)
    _refuse_bad(weighed, offsets, ids)
    return Weighed(ids, offsets, np.array(word_ids, np.int32), weighed, list(vocabulary))


def _refuse_bad(weights: NDArray[np.float32], offsets: NDArray[np.int64], ids: list[str]) -> None:
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        row = int(np.searchsorted(offsets, bad[0], side="right")) - 1
        raise TsgenError(
            f"document {ids[row]!r}: a word weighs {weights[bad[0]]}, expected a finite number "
            "≥ 0. If the weights are learned, train them again with a lower learning rate."
        )


def _merge(pieces: Sequence[Weighed]) -> Weighed:
    """Join pieces, with one vocabulary for all of them."""
    vocabulary: dict[str, int] = {}
    numbered = []
    for piece in pieces:
        ids = [vocabulary.setdefault(word, len(vocabulary)) for word in piece.words]
        numbered.append(np.array(ids, np.int32)[piece.word_ids])
    lengths = [np.diff(piece.offsets) for piece in pieces]
    return Weighed(
        [document for piece in pieces for document in piece.document_ids],
        offsets_of(np.concatenate([*lengths, np.empty(0, np.int64)])),
        np.concatenate([*numbered, np.empty(0, np.int32)]),
        np.concatenate([*(piece.weights for piece in pieces), np.empty(0, np.float32)]),
        list(vocabulary),
    )


def _arrays(piece: Weighed) -> dict[str, NDArray[Any]]:
    ids, words = Strings.pack(piece.document_ids), Strings.pack(piece.words)
    return {
        "offsets": piece.offsets,
        "word_ids": piece.word_ids,
        "weights": piece.weights,
        "ids": ids.blob,
        "ids_offsets": ids.offsets,
        "words": words.blob,
        "words_offsets": words.offsets,
    }


def _weighed(arrays: dict[str, NDArray[Any]]) -> Weighed:
    return Weighed(
        list(Strings(arrays["ids_offsets"], arrays["ids"])),
        arrays["offsets"],
        arrays["word_ids"],
        arrays["weights"],
        list(Strings(arrays["words_offsets"], arrays["words"])),
    )
