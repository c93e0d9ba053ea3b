"""A data set: documents that stream, queries, and judgments per split."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from tsgen.records import Document, Judgments, Query


class DataSet(Protocol):
    """What every loader returns. Documents are read again on each call and never held at once."""

    @property
    def name(self) -> str:
        """A short name for tables and cache folders."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash of the documents' source: equal fingerprints mean equal documents."""
        ...

    @property
    def splits(self) -> list[str]:
        """The names of the splits that have judgments, e.g. train, dev, test."""
        ...

    def documents(self) -> Iterator[Document]:
        """All documents, in file order."""
        ...

    def queries(self) -> Mapping[str, Query]:
        """All queries by id."""
        ...

    def judgments(self, split: str) -> Judgments:
        """The judgments of a split; an unknown or empty split raises `DataError`."""
        ...
