"""A data set with pseudo-queries in the place of people's: what learns from judgments can then
learn from texts alone."""

from collections.abc import Mapping
from functools import cached_property

from tsgen.corpus.dataset import DataSet
from tsgen.corpus.derived import Derived
from tsgen.errors import DataError
from tsgen.pretrain.config import PseudoQueryConfig
from tsgen.pretrain.pairs import PseudoPairs
from tsgen.queries.pairs import Pair
from tsgen.records import Judgments, Query

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
