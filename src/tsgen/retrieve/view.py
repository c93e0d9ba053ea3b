"""The documents of a collection at one moment: those of the base that are still there, then those
that were put since, by number."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import orjson
from numpy.typing import NDArray

from tsgen.errors import DataError
from tsgen.records import NO_METADATA, Document
from tsgen.retrieve.base import FILTERS, Base
from tsgen.retrieve.store import Added, Store
from tsgen.retrieve.where import parse
from tsgen.terms.lexicon import Lexicon


class View:
    """Documents by number, in the order of the term sets; texts are read when asked for."""

    def __init__(
        self,
        base: Base,
        kept: NDArray[np.integer] | None = None,
        added: Sequence[Added] = (),
        store: Store | None = None,
    ) -> None:
        """`kept` are the numbers in the base of its documents that are still there, ascending;
        `added` documents have their texts in the store."""
        self.base, self.added = base, added
        self.kept = np.arange(len(base.documents)) if kept is None else kept
        self._store = store
        self._matches: dict[str, NDArray[np.int32]] = {}

    def __len__(self) -> int:
        return len(self.kept) + len(self.added)

    def __getitem__(self, number: int) -> Document:
        if number < len(self.kept):
            return self.base.documents[int(self.kept[number])]
        one = self.added[number - len(self.kept)]
        found = self._store.document(one.sequence) if self._store else None
        if found is None:
            raise DataError(
                f"{one.id!r}: the collection was compacted since it was opened, and this document "
                "is elsewhere or gone. Open the engine again."
            )
        return found

    def __iter__(self) -> Iterator[Document]:
        return (self[number] for number in range(len(self)))

    def number(self, document_id: str) -> int | None:
        """The number of a document, or None if it is not there."""
        if document_id in self._added_numbers:
            return self._added_numbers[document_id]
        number = self.base.numbers.get(document_id)
        if number is None:
            return None
        place = int(np.searchsorted(self.kept, number))
        return place if place < len(self.kept) and self.kept[place] == number else None

    def matching(self, where: str) -> NDArray[np.int32]:
        """The numbers of the documents whose metadata passes a filter, ascending."""
        found = self._matches.get(where)
        if found is None:
            passes = parse(where)
            own = np.array([passes(_metadata(one)) for one in self.added], np.bool_)
            both = np.concatenate([self.base.matching(where)[self.kept], own])
            found = np.flatnonzero(both).astype(np.int32)
            if len(self._matches) < FILTERS:
                self._matches[where] = found
        return found

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of all documents; of those that were put since, their terms."""
        return self.base.lexicon.with_words(term for one in self.added for term in one.terms)

    @cached_property
    def _added_numbers(self) -> dict[str, int]:
        return {one.id: i for i, one in enumerate(self.added, len(self.kept))}


def _metadata(one: Added) -> dict[str, object]:
    return dict(NO_METADATA) if one.metadata is None else orjson.loads(one.metadata)
