"""Shards of a data set: the documents that training queries ask for, and further ones (Table 3).

A folder of shards has two lists of document ids, one a line: `seen.ids` and `unseen.ids`. A
document of both is seen. `tsgen split` writes such lists; for MS300K they are Ultron's two lists,
the clicked and the random documents.

Each shard is a data set of its own. Systems are trained on the seen one, and then searched in the
seen one, in the unseen one, and in both together: so the figures of all queries are not the mean of
the two others, since there are more documents to confuse them with.
"""

from collections.abc import Iterator, Set
from functools import cached_property
from pathlib import Path

from tsgen.artifact import hash_strings
from tsgen.corpus.dataset import DataSet, DerivedDataSet
from tsgen.corpus.msmarco import listed_ids
from tsgen.errors import DataError
from tsgen.records import Document, Judgments

SEEN, UNSEEN, ALL = "seen", "unseen", "all"
SUFFIX = ".ids"
TEST = "test"


class Shard(DerivedDataSet):
    """The documents of a data set whose ids are listed, and the judgments of these.

    Args:
        data: The whole set.
        name: The shard's name.
        ids: Its documents.
        tested: The split that is tested on, which is called `test` here, so that nothing that
            trains looks at it.
    """

    def __init__(self, data: DataSet, name: str, ids: Set[str], tested: str = TEST) -> None:
        super().__init__(data)
        self._shard, self._ids, self._tested = name, ids, tested

    @property
    def name(self) -> str:
        """The data set's name and the shard's."""
        return f"{self._data.name}-{self._shard}"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the set and of the ids."""
        return hash_strings(self._data.fingerprint, *sorted(self._ids))

    @cached_property
    def splits(self) -> list[str]:
        """The splits with a judgment of the shard's documents."""
        names = [self._named(split) for split in self._data.splits if not self._hidden(split)]
        return [split for split in names if self._judged(split)]

    def documents(self) -> Iterator[Document]:
        """Stream the shard's documents, in file order."""
        return (one for one in self._data.documents() if one.id in self._ids)

    def judgments(self, split: str) -> Judgments:
        """The judgments of a split that are of the shard's documents."""
        judged = self._judged(split)
        if not judged:
            raise DataError(
                f"{self.name}: no judgment of its split {split!r}; splits: "
                f"{', '.join(self.splits) or 'none'}."
            )
        return judged

    def _named(self, split: str) -> str:
        return TEST if split == self._tested else split

    def _hidden(self, split: str) -> bool:
        """Whether another split is called `test` here."""
        return split == TEST != self._tested

    def _judged(self, split: str) -> Judgments:
        found = self._data.judgments(self._tested if split == TEST else split)
        left = {
            query: {document: grade for document, grade in grades.items() if document in self._ids}
            for query, grades in found.items()
        }
        return {q: grades for q, grades in left.items() if max(grades.values(), default=0) > 0}


def sharded(data: DataSet, folder: Path, tested: str = TEST) -> dict[str, Shard]:
    """The shards of a data set by name: seen, unseen, and all documents of both.

    Args:
        data: The whole set.
        folder: The folder with the two lists of ids.
        tested: The split that is tested on.
    """
    lists = {name: folder / f"{name}{SUFFIX}" for name in (SEEN, UNSEEN)}
    for path in lists.values():
        if not path.is_file():
            raise DataError(
                f"{path}: no such file; expected a list of document ids, one a line. "
                "`tsgen split DATA --out FOLDER` writes both lists."
            )
    seen = listed_ids(lists[SEEN])
    unseen = listed_ids(lists[UNSEEN]) - seen
    if not unseen:
        raise DataError(f"{lists[UNSEEN]}: all of its documents are seen ones; expected others.")
    ids = {SEEN: seen, UNSEEN: unseen, ALL: seen | unseen}
    return {name: Shard(data, name, some, tested) for name, some in ids.items()}


def write_ids(folder: Path, name: str, ids: Set[str]) -> None:
    """Write the list of a shard's documents, in order."""
    (folder / f"{name}{SUFFIX}").write_text("".join(f"{one}\n" for one in sorted(ids)), "utf-8")
