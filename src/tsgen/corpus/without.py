"""A data set less the documents of others: what is measured on those was not learned from them."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from tsgen.artifact import hash_strings
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.derived import Derived
from tsgen.errors import DataError
from tsgen.records import Document, Judgments


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
