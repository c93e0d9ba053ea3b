"""A data set put together from sources: each reads one file, the checks are the same for all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from tsgen.artifact import hash_file, hash_strings
from tsgen.corpus.lines import numbered_lines
from tsgen.corpus.problems import BadRecord, Problem, Problems
from tsgen.errors import DataError
from tsgen.records import Document, Judgment, Judgments, Query

T = TypeVar("T")
USUAL_SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """Where records of one kind come from.

    `raw` gives numbered raw records; `make` turns one into a record, into None for what is no
    record (a header, a document outside an id list), or raises `BadRecord`.
    """

    name: str
    raw: Callable[[], Iterator[tuple[int, Any]]]
    make: Callable[[Any], T | None]
    digest: Callable[[], str]
    remote: bool = False  # a look inside could mean a download

    def rows(self, problems: Problems) -> Iterator[tuple[int, T]]:
        """The records with their line numbers; bad ones go to `problems`."""
        for line, raw in self.raw():
            try:
                record = self.make(raw)
            except BadRecord as bad:
                file, line = bad.place or (self.name, line)
                problems.report(Problem(bad.kind, file, line, str(bad)))
                continue
            if record is not None:
                yield line, record

    def is_empty(self) -> bool:
        """Whether there is not even one record, good or bad."""
        if self.remote:
            return False
        problems = Problems(skip_bad=True)
        return next(self.rows(problems), None) is None and not len(problems)


def file_source(
    path: Path,
    make: Callable[[Any], T | None],
    *options: str,
    raw: Callable[[Path], Iterator[tuple[int, Any]]] = numbered_lines,
) -> Source[T]:
    """A source that reads a file; `options` are what else decides the records, for the hash."""
    return Source(
        name=str(path),
        raw=lambda: raw(path),
        make=make,
        digest=lambda: hash_strings(hash_file(path), *options),
    )


@dataclass(slots=True)
class Layout:
    """The sources that a folder, file or name was found to hold."""

    documents: Source[Document]
    queries: Sequence[Source[Query]] = ()
    judgments: Mapping[str, Source[Judgment]] = field(default_factory=dict)


class SourcedDataSet:
    """A `DataSet` over sources, which checks every record it hands out."""

    def __init__(self, name: str, layout: Layout, *, skip_bad: bool = False) -> None:
        self.name = name
        self.problems = Problems(skip_bad=skip_bad)
        self._layout = layout
        self._document_ids: set[str] | None = None

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the documents' bytes and of the options that select from them."""
        return self._layout.documents.digest()

    @cached_property
    def splits(self) -> list[str]:
        """The splits that have judgments: train, dev and test first, then the others by name."""
        sources = self._layout.judgments
        return sorted((s for s in sources if not sources[s].is_empty()), key=_usual_first)

    @property
    def empty_splits(self) -> list[str]:
        """The splits that have a file without a single judgment in it."""
        return sorted(set(self._layout.judgments) - set(self.splits), key=_usual_first)

    def documents(self) -> Iterator[Document]:
        """All documents, in file order; a document has an id of its own, and a title or a text."""
        source = self._layout.documents
        ids: set[str] = set()
        for line, document in source.rows(self.problems):
            if document.id in ids:
                self._report("duplicate id", source, line, _twice("document", document.id))
            elif not (document.text.strip() or document.title.strip()):
                self._report("empty text", source, line, _no_text(document.id))
            else:
                ids.add(document.id)
                yield document
        if not ids:
            raise DataError(f"{source.name}: no documents in it; expected at least one.")
        self._document_ids = ids

    def queries(self) -> Mapping[str, Query]:
        """All queries by id."""
        return self._queries

    @cached_property
    def _queries(self) -> dict[str, Query]:
        found: dict[str, Query] = {}
        for source in self._layout.queries:
            here: set[str] = set()
            for line, query in source.rows(self.problems):
                # The same query may come in several files: MS MARCO's dev.small is part of dev.
                known = found.get(query.id, query)
                if not query.text.strip():
                    self._report("empty text", source, line, _no_words(query.id))
                elif query.id in here or known.text != query.text:
                    self._report("duplicate id", source, line, _twice("query", query.id))
                else:
                    here.add(query.id)
                    found[query.id] = query
        return found

    def judgments(self, split: str) -> Judgments:
        """The judgments of a split, checked: they name known queries and known documents.

        Grades of 0 and less are kept; they say that a document is not relevant.
        """
        source = self._source_of(split)
        grades: Judgments = {}
        for line, judgment in source.rows(self.problems):
            if self._is_known(judgment, source, line):
                known = grades.setdefault(judgment.query_id, {})
                if known.setdefault(judgment.document_id, judgment.grade) != judgment.grade:
                    self._report("two grades", source, line, _two_grades(judgment, known))
        if not grades:
            raise DataError(f"{source.name}: no judgments in it. {self._choice(split)}")
        return grades

    def _source_of(self, split: str) -> Source[Judgment]:
        if split not in self._layout.judgments:
            raise DataError(f"{self.name}: no split named {split!r}. {self._choice(split)}")
        return self._layout.judgments[split]

    def _choice(self, split: str) -> str:
        """The end of the message about a split that cannot be used."""
        names = ", ".join(name for name in self.splits if name != split)
        return f"Splits with judgments: {names or 'none'}."

    def _is_known(self, judgment: Judgment, source: Source[Judgment], line: int) -> bool:
        if judgment.query_id not in self._queries:
            kind, what, name = "unknown query", "query", judgment.query_id
            files = (
                ", ".join(s.name for s in self._layout.queries) or "any file: there are no queries"
            )
        elif judgment.document_id not in self.document_ids():
            kind, what, name = "unknown document", "document", judgment.document_id
            files = self._layout.documents.name
        else:
            return True
        self._report(kind, source, line, f"{what} {name!r} is not in {files}")
        return False

    def document_ids(self) -> set[str]:
        """The ids of all documents; kept after the first complete pass."""
        if self._document_ids is None:
            for _ in self.documents():
                pass
        assert self._document_ids is not None
        return self._document_ids

    def _report(self, kind: str, source: Source[Any], line: int, message: str) -> None:
        self.problems.report(Problem(kind, source.name, line, message))


def _usual_first(split: str) -> tuple[int, str]:
    return (USUAL_SPLITS.index(split) if split in USUAL_SPLITS else len(USUAL_SPLITS), split)


def _twice(what: str, name: str) -> str:
    return f"the {what} id {name!r} was used before; expected ids that differ"


def _no_words(name: str) -> str:
    return f"query {name!r} is empty; expected some words"


def _no_text(name: str) -> str:
    return f"document {name!r} has neither text nor title; expected one of them"


def _two_grades(judgment: Judgment, known: Mapping[str, int]) -> str:
    pair = f"query {judgment.query_id!r}, document {judgment.document_id!r}"
    return f"{pair} has grade {judgment.grade} here and {known[judgment.document_id]} before"
