"""A data set: documents that stream, queries, and judgments per split."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from tsgen import progress
from tsgen.artifact import cache_folder, hash_strings
from tsgen.corpus.problems import Problems
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
