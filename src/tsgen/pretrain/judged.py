"""A data set with pseudo-queries in the place of people's: what learns from judgments can then
learn from texts alone."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from tsgen.corpus.dataset import DataSet
from tsgen.corpus.problems import Problems
from tsgen.errors import DataError
from tsgen.pretrain.config import PseudoQueryConfig
from tsgen.pretrain.pairs import PseudoPairs
from tsgen.queries.pairs import Pair
from tsgen.records import Document, Judgments, Query

TRAIN = "train"


class PseudoJudged:
    """The documents of a data set, and so many pseudo-queries as judgments of its one split."""

    def __init__(self, data: DataSet, config: PseudoQueryConfig, queries: int, seed: int) -> None:
        self._data, self._config, self._count, self._seed = data, config, queries, seed
        self.name, self.splits = f"{data.name}-pseudo", [TRAIN]

    @property
    def fingerprint(self) -> str:
        """That of the documents."""
        return self._data.fingerprint

    @property
    def problems(self) -> Problems:
        """Those of the documents."""
        return self._data.problems

    def documents(self) -> Iterator[Document]:
        """All documents, in file order."""
        return self._data.documents()

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
