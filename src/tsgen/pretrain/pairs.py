"""A stream of (pseudo-query, document) pairs without end that is never held in memory."""

import math
from collections.abc import Sequence

import numpy as np

from tsgen.errors import ConfigError, DataError
from tsgen.pretrain.config import PseudoQueryConfig
from tsgen.pretrain.pseudo_query import pseudo_query
from tsgen.pretrain.shuffle import mixed, shuffled
from tsgen.queries.pairs import Pair
from tsgen.records import Document

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
