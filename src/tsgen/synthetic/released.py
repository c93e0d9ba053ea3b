"""The writer `released`: the synthetic queries that a data set comes with.

Releases of NQ320K and MS300K have queries that a docT5query wrote for their authors: the split
`synthetic` of the data set. With `queries.released = true` they take the place of whatever writer
the settings name, as far as the data set has them, so that a table is made from the very queries
that others trained on. The first n of each document are used: releases have them in the order in
which they were drawn.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.errors import DataError
from tsgen.records import Document
from tsgen.settings import QueriesConfig
from tsgen.synthetic.writers import WRITERS, WriterKind

NAME, SPLIT = "released", "synthetic"


class NoSettings(StageConfig):
    """Released queries are what they are: there is nothing to set."""


class Released:
    """Hands out the queries of the split `synthetic`, document by document."""

    def __init__(self, data: DataSet) -> None:
        if SPLIT not in data.splits:
            raise DataError(
                f"{data.name}: no synthetic queries come with it; splits with judgments: "
                f"{', '.join(data.splits) or 'none'}; expected one named {SPLIT}. Choose another "
                "writer: --writer extractive, local or doct5query."
            )
        queries = data.queries()
        self._of: dict[str, list[str]] = defaultdict(list)
        for query, grades in data.judgments(SPLIT).items():
            for document, grade in grades.items():
                if grade > 0:
                    self._of[document].append(queries[query].text)

    def write(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:  # noqa: ARG002
        """The first n queries of each document; the seed changes nothing."""
        return [self._of.get(document.id, [])[:n] for document in documents]


def with_released(data: DataSet, config: QueriesConfig) -> QueriesConfig:
    """The settings with the writer `released` where they want it and the data set has queries."""
    if not config.released or SPLIT not in data.splits:
        return config
    return config.model_copy(update={"writer": NAME, "options": {}})


def own_queries(data: DataSet) -> list[str]:
    """The texts of all queries of a data set but its synthetic ones."""
    synthetic: set[str] = set()
    if SPLIT in data.splits:
        others = (data.judgments(split) for split in data.splits if split != SPLIT)
        synthetic = set(data.judgments(SPLIT)).difference(*others)
    return [query.text for id, query in data.queries().items() if id not in synthetic]


def _build(data: DataSet, config: NoSettings, seed: int, folder: Path) -> Released:
    return Released(data)


WRITERS.register(WriterKind(NAME, NoSettings, _build, reads=(SPLIT,)))
