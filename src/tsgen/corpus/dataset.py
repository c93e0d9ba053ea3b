"""A data set: documents that stream, queries, and judgments per split."""

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
    def problems(self) -> Problems:
        """The bad records met so far, where they are skipped instead of raised."""
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


def watched_documents(data: DataSet) -> Iterator[Document]:
    """All documents, telling how many were read."""
    for number, document in enumerate(data.documents()):
        if number % 1000 == 0:
            progress.show("reading documents", number)
        yield document


def some_judged(data: DataSet, split: str, limit: int | None) -> Judgments:
    """The judgments of `limit` of a split's queries; None: of all. They are spread evenly, since
    files are often sorted by where their queries come from."""
    judged = data.judgments(split)
    if limit is None or limit >= len(judged):
        return judged
    queries = list(judged)
    return {id: judged[id] for id in (queries[i * len(queries) // limit] for i in range(limit))}


def judgments_fingerprint(data: DataSet, split: str) -> str:
    """A hash of a split's judgments and of their queries' texts, for what learns from them."""
    queries = data.queries()
    rows = (
        f"{query}\t{queries[query].text}\t{document}\t{grade}"
        for query, grades in data.judgments(split).items()
        for document, grade in grades.items()
    )
    return hash_strings(*sorted(rows))


def judged_inputs(data: DataSet, *splits: str) -> dict[str, str]:
    """Split → the hash of its judgments, for those of these splits that the data set has."""
    return {split: judgments_fingerprint(data, split) for split in splits if split in data.splits}


def cache_folder_of(data: DataSet, cache: Path | None = None) -> Path:
    """Where what was fitted on this data set is kept, in `cache` or the usual place."""
    name = re.sub(r"[^\w.-]+", "-", f"{data.name}-{data.fingerprint[:8]}")
    return (cache or cache_folder()) / name


# A data set made from another: all of it, but for what a kind of its own says.


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


# A data set less the documents of others: what is measured on those was not learned from them.


class Without(Derived):
    """All of a data set but documents whose id or title one of `others` has, too, and judgments of
    those."""

    def __init__(self, data: DataSet, others: Sequence[DataSet]) -> None:
        super().__init__(data)
        self._others = others

    @property
    def name(self) -> str:
        """Those of all."""
        return f"{self._data.name}-without-{'-'.join(other.name for other in self._others)}"

    @property
    def fingerprint(self) -> str:
        """That of the documents that remain."""
        return hash_strings(self._data.fingerprint, *(other.fingerprint for other in self._others))

    def documents(self) -> Iterator[Document]:
        """The documents that remain, in file order."""
        for document in self._data.documents():
            if not self._is_out(document):
                yield document

    def judgments(self, split: str) -> Judgments:
        """The judgments of documents that remain."""
        left = {
            query: {id: grade for id, grade in grades.items() if id not in self._left_out}
            for query, grades in self._data.judgments(split).items()
        }
        found = {query: grades for query, grades in left.items() if grades}
        if not found:
            raise DataError(f"{self.name}: no judgment of its split {split!r} remains.")
        return found

    @cached_property
    def _left_out(self) -> set[str]:
        return {document.id for document in self._data.documents() if self._is_out(document)}

    def _is_out(self, document: Document) -> bool:
        ids, titles = self._known
        return document.id in ids or bool(document.title and document.title in titles)

    @cached_property
    def _known(self) -> tuple[set[str], set[str]]:
        found = [(d.id, d.title) for other in self._others for d in other.documents()]
        return {id for id, _ in found}, {title for _, title in found}
