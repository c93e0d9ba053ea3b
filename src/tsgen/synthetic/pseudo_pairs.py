"""A data set with pseudo-queries in the place of people's: what learns from judgments can then
learn from texts alone."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from tsgen.corpus.dataset import DataSet, Derived
from tsgen.errors import ConfigError, DataError
from tsgen.queries.pairs import Pair
from tsgen.records import Document, Judgments, Query
from tsgen.settings import PseudoQueryConfig
from tsgen.synthetic.pseudo_query import pseudo_query

# A random order of so many things without a list of them.

ROUNDS = 4
_MASK = (1 << 64) - 1


def shuffled(place: int, size: int, key: int) -> int:
    """The place that `place` has in the random order with this key: a permutation of 0 … size − 1.

    A Feistel network permutes the numbers of an even count of bits; a result that is too large is
    permuted again until it is not, which takes less than four rounds of it on average.
    """
    half = max((size - 1).bit_length() + 1, 2) // 2
    while True:
        place = _feistel(place, half, key)
        if place < size:
            return place


def _feistel(number: int, half: int, key: int) -> int:
    low_bits = (1 << half) - 1
    left, right = number >> half, number & low_bits
    for step in range(ROUNDS):
        left, right = right, left ^ (mixed(key ^ step << 60 ^ right) & low_bits)
    return left << half | right


def mixed(*numbers: int) -> int:
    """A hash of numbers ≥ 0 below 2^64, in 64 bits."""
    found = 0
    for number in numbers:
        found = _mix(found ^ number)
    return found


def _mix(number: int) -> int:
    """SplitMix64's output function: every bit of the number tells in every bit of the result."""
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _MASK
    return number ^ number >> 31


# A stream of (pseudo-query, document) pairs without end that is never held in memory.

DOCUMENTS, EXTRA = 0, 1  # their random orders differ


class PseudoPairs:
    """Pair number 0, 1, …: each is made when asked for, from the seed and its number alone.

    The documents come in a new random order each epoch, each with another query. With `extra` pairs
    (real or synthetic queries), every so many pairs one of them is dealt in, so that they are
    `share` of the stream; they have their own epochs.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        config: PseudoQueryConfig,
        seed: int,
        extra: Sequence[Pair] = (),
        share: float = 0.0,
    ) -> None:
        if not documents:
            raise DataError("no documents; expected at least one to make queries from")
        if not 0 <= share < 1:
            raise ConfigError(f"share = {share}: expected at least 0 and less than 1")
        self._documents, self._config, self._seed = documents, config, seed
        self._extra, self._share = extra, share if extra else 0.0

    def __len__(self) -> int:
        """How many pairs it takes to meet every document once."""
        return math.ceil(len(self._documents) / (1 - self._share))

    def pair(self, number: int) -> Pair:
        """Pair `number` of the stream, whatever was asked for before."""
        extra_before = int(number * self._share)
        if int((number + 1) * self._share) > extra_before:
            return self._extra[self._place(extra_before, len(self._extra), EXTRA)]
        document = self._place(number - extra_before, len(self._documents), DOCUMENTS)
        rng = np.random.default_rng((self._seed, number))
        return Pair(pseudo_query(self._documents[document], rng, self._config), document)

    def _place(self, number: int, size: int, stream: int) -> int:
        epoch, place = divmod(number, size)
        return shuffled(place, size, mixed(self._seed, stream, epoch))


TRAIN = "train"


class PseudoJudged(Derived):
    """The documents of a data set, and so many pseudo-queries as judgments of its one split."""

    def __init__(self, data: DataSet, config: PseudoQueryConfig, queries: int, seed: int) -> None:
        super().__init__(data)
        self._config, self._count, self._seed = config, queries, seed

    @property
    def name(self) -> str:
        """That of the documents, and what was made of them."""
        return f"{self._data.name}-pseudo"

    @property
    def splits(self) -> list[str]:
        """One."""
        return [TRAIN]

    def queries(self) -> Mapping[str, Query]:
        """The pseudo-queries by their numbers."""
        return {str(n): Query(str(n), pair.query) for n, (pair, _) in enumerate(self._pairs)}

    def judgments(self, split: str) -> Judgments:
        """Each pseudo-query with the document that it was made from."""
        if split != TRAIN:
            raise DataError(f"{self.name}: no split {split!r}; it has {TRAIN!r} only.")
        return {str(n): {document: 1} for n, (_, document) in enumerate(self._pairs)}

    @cached_property
    def _pairs(self) -> list[tuple[Pair, str]]:
        documents = list(self._data.documents())
        stream = PseudoPairs(documents, self._config, self._seed)
        pairs = map(stream.pair, range(min(self._count, len(stream))))
        return [(pair, documents[pair.document].id) for pair in pairs]
