"""The protocol of a data set (documents that stream, queries, judgments of each split), what is
computed from any data set, and data sets derived from others.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from tsgen import progress
from tsgen.artifact import cache_folder, hash_strings
from tsgen.corpus.sources import Problems
from tsgen.errors import DataError
from tsgen.records import Document, Judgments, Query


class DataSet(Protocol):
    """The data sets that all loaders return. Documents are streamed: each call reads them again."""

    @property
    def name(self) -> str:
        """A short name of the data set, for tables and cache folders."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash of the documents' source: equal fingerprints mean equal documents."""
        ...

    @property
    def problems(self) -> Problems:
        """The bad records met so far, where they are skipped instead of raised."""
        ...

    @property
    def splits(self) -> list[str]:
        """The names of the splits that have judgments, e.g. train, dev, test."""
        ...

    def documents(self) -> Iterator[Document]:
        """Stream all documents, in file order."""
        ...

    def queries(self) -> Mapping[str, Query]:
        """All queries by id."""
        ...

    def judgments(self, split: str) -> Judgments:
        """The judgments of a split; an unknown or empty split raises `DataError`."""
        ...


def watched_documents(data: DataSet) -> Iterator[Document]:
    """Stream all documents, showing as progress how many have been read."""
    for number, document in enumerate(data.documents()):
        if number % 1000 == 0:
            progress.show("reading documents", number)
        yield document


def some_judged(data: DataSet, split: str, limit: int | None) -> Judgments:
    """The judgments of a split, or of `limit` of its queries.

    These are spread evenly, since files are often sorted by where their queries come from.
    """
    judged = data.judgments(split)
    if limit is None or limit >= len(judged):
        return judged
    queries = list(judged)
    return {id: judged[id] for id in (queries[i * len(queries) // limit] for i in range(limit))}


def judgments_fingerprint(data: DataSet, split: str) -> str:
    """Hash a split's judgments and their queries' texts, for the cache key of trained models."""
    queries = data.queries()
    rows = (
        f"{query}\t{queries[query].text}\t{document}\t{grade}"
        for query, grades in data.judgments(split).items()
        for document, grade in grades.items()
    )
    return hash_strings(*sorted(rows))


def judged_inputs(data: DataSet, *splits: str) -> dict[str, str]:
    """The hash of the judgments of each of these splits that the data set has, by split."""
    return {split: judgments_fingerprint(data, split) for split in splits if split in data.splits}


def cache_folder_of(data: DataSet, cache: Path | None = None) -> Path:
    """The cache folder of all that is fitted on this data set, in `cache` or the usual one."""
    name = re.sub(r"[^\w.-]+", "-", f"{data.name}-{data.fingerprint[:8]}")
    return (cache or cache_folder()) / name


class DerivedDataSet:
    """A data set that equals another one; subclasses change some of it."""

    def __init__(self, data: DataSet) -> None:
        self._data = data

    @property
    def name(self) -> str:
        """The name of the original."""
        return self._data.name

    @property
    def fingerprint(self) -> str:
        """The hash of the original's documents."""
        return self._data.fingerprint

    @property
    def problems(self) -> Problems:
        """The bad records met in the original."""
        return self._data.problems

    @property
    def splits(self) -> list[str]:
        """The names of the original's splits."""
        return self._data.splits

    def documents(self) -> Iterator[Document]:
        """Stream the original's documents."""
        return self._data.documents()

    def queries(self) -> Mapping[str, Query]:
        """The original's queries by id."""
        return self._data.queries()

    def judgments(self, split: str) -> Judgments:
        """The original's judgments of a split."""
        return self._data.judgments(split)


class DataSetWithout(DerivedDataSet):
    """A data set without the documents that others have, too, and without judgments of these.

    A document is removed if one of `others` has a document of the same id or title. So a model that
    is trained on this data set has not seen the documents that it is tested on.
    """

    def __init__(self, data: DataSet, others: Sequence[DataSet]) -> None:
        super().__init__(data)
        self._others = others

    @property
    def name(self) -> str:
        """The data set's name with the names of the removed sets."""
        return f"{self._data.name}-without-{'-'.join(other.name for other in self._others)}"

    @property
    def fingerprint(self) -> str:
        """A hash of the documents that remain."""
        return hash_strings(self._data.fingerprint, *(other.fingerprint for other in self._others))

    def documents(self) -> Iterator[Document]:
        """Stream the documents that remain, in file order."""
        for document in self._data.documents():
            if not self._is_removed(document):
                yield document

    def judgments(self, split: str) -> Judgments:
        """The judgments of a split that are of documents that remain."""
        left = {
            query: {id: grade for id, grade in grades.items() if id not in self._removed}
            for query, grades in self._data.judgments(split).items()
        }
        judged = {query: grades for query, grades in left.items() if grades}
        if not judged:
            raise DataError(f"{self.name}: no judgment of its split {split!r} remains.")
        return judged

    @cached_property
    def _removed(self) -> set[str]:
        return {document.id for document in self._data.documents() if self._is_removed(document)}

    def _is_removed(self, document: Document) -> bool:
        ids, titles = self._known
        return document.id in ids or bool(document.title and document.title in titles)

    @cached_property
    def _known(self) -> tuple[set[str], set[str]]:
        found = [(d.id, d.title) for other in self._others for d in other.documents()]
        return {id for id, _ in found}, {title for _, title in found}
