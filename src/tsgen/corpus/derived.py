"""A data set made from another: all of it, but for what a kind of its own says."""

from collections.abc import Iterator, Mapping

from tsgen.corpus.dataset import DataSet
from tsgen.corpus.problems import Problems
from tsgen.records import Document, Judgments, Query


class Derived:
    """Hands on everything of a data set."""

    def __init__(self, data: DataSet) -> None:
        self._data = data

    @property
    def name(self) -> str:
        """That of the data set."""
        return self._data.name

    @property
    def fingerprint(self) -> str:
        """That of the documents."""
        return self._data.fingerprint

    @property
    def problems(self) -> Problems:
        """Those of the whole data set."""
        return self._data.problems

    @property
    def splits(self) -> list[str]:
        """Those of the data set."""
        return self._data.splits

    def documents(self) -> Iterator[Document]:
        """All documents, in file order."""
        return self._data.documents()

    def queries(self) -> Mapping[str, Query]:
        """All queries by id."""
        return self._data.queries()

    def judgments(self, split: str) -> Judgments:
        """The judgments of a split."""
        return self._data.judgments(split)
