"""Seen and unseen queries, which test memory and generalisation (Tables 2 and 3).

A query is seen if one of its relevant documents is relevant to a training query. `seen_unseen`
divides the queries of a split, `split_documents` makes training sets that leave documents unseen.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pydantic import Field

from tsgen.artifact import stage
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, judgments_fingerprint, watched_documents
from tsgen.corpus.shards import SEEN, UNSEEN, write_ids
from tsgen.errors import DataError
from tsgen.records import Judgments

HEADER = "query-id\tcorpus-id\tscore\n"
LEARNED_FROM = ("train", "synthetic", "dev")  # splits that a model may be trained or tuned on


def seen_unseen(
    data: DataSet, split: str = "test", train: str = "train"
) -> tuple[set[str], set[str]]:
    """The ids of a split's seen and unseen queries.

    A query is seen when at least one of its relevant documents is relevant to a training query.
    Without training judgments every query is unseen.
    """
    judgments = data.judgments(split)
    seen = seen_queries(judgments, data.judgments(train) if train in data.splits else {})
    return seen, set(judgments) - seen


def seen_queries(judgments: Judgments, training: Judgments) -> set[str]:
    """The queries with a relevant document that is relevant to a training query too."""
    known = {document for grades in training.values() for document in _relevant(grades)}
    return {query for query, grades in judgments.items() if not known.isdisjoint(_relevant(grades))}


class SplitConfig(StageConfig):
    """The setting of a split of documents into seen and unseen ones."""

    fraction: float = Field(0.5, gt=0, lt=1)
    """The share of the documents that keep their training queries."""


@dataclass(frozen=True, slots=True)
class SplitReport:
    """Counts of a split of documents: the documents on the Seen side, the queries of each split
    before and after, and how many queries of the tested split are now seen and unseen."""

    documents: int
    seen_documents: int
    queries_before: dict[str, int]
    queries_after: dict[str, int]
    tested: str
    seen: int
    unseen: int

    def summary(self) -> str:
        """Describe the split in three lines for the terminal."""
        changes = ", ".join(
            f"{split} {count:,} → {self.queries_after[split]:,}"
            for split, count in self.queries_before.items()
        )
        return (
            f"documents: {self.seen_documents:,} of {self.documents:,} may be seen in training\n"
            f"queries: {changes}\n"
            f"{self.tested}: {self.seen:,} queries seen, {self.unseen:,} unseen"
        )


def split_documents(
    data: DataSet, folder: Path, *, fraction: float = 0.5, seed: int = 0
) -> SplitReport:
    """Write the judgments of the paper's generalisation experiment to a folder (as BEIR's qrels),
    and the lists of its shards' documents.

    The corpus is divided at random: a `fraction` of the documents is Seen, the rest is Unseen.
    Training and validation queries stay only if all their relevant documents are Seen, so that
    nothing a model learns from is about an Unseen document; test queries all stay (Table 3). Where
    there is no split `test`, `dev` is what is tested on.
    """
    config = SplitConfig.from_mapping({"fraction": fraction})
    tested = _tested(data)
    ids = [document.id for document in watched_documents(data)]
    kept = set(Random(seed).sample(ids, round(config.fraction * len(ids))))
    before = {split: data.judgments(split) for split in data.splits}
    learned = set(LEARNED_FROM) - {tested}
    after = {s: _of_seen(j, kept) if s in learned else j for s, j in before.items()}

    def write(partial: Path) -> None:
        _write(after, partial)
        write_ids(partial, SEEN, kept)
        write_ids(partial, UNSEEN, set(ids) - kept)

    hashes = {split: judgments_fingerprint(data, split) for split in before}
    stage(
        folder,
        write,
        kind="split",
        config=config,
        inputs={"documents": data.fingerprint, **hashes},
        seed=seed,
    )
    seen = len(seen_queries(after[tested], after["train"]))
    return SplitReport(
        documents=len(ids),
        seen_documents=len(kept),
        queries_before={split: len(judgments) for split, judgments in before.items()},
        queries_after={split: len(judgments) for split, judgments in after.items()},
        tested=tested,
        seen=seen,
        unseen=len(after[tested]) - seen,
    )


def _tested(data: DataSet) -> str:
    """The split to test on; a data set without one, or without training queries, is refused."""
    tested = next((split for split in ("test", "dev") if split in data.splits), None)
    if tested is None or "train" not in data.splits:
        raise DataError(
            f"{data.name}: splits with judgments: {', '.join(data.splits) or 'none'}; expected "
            "train, to remove queries from, and test (or dev), to test on."
        )
    return tested


def _of_seen(judgments: Judgments, kept: set[str]) -> Judgments:
    """Keep the queries whose relevant documents are all Seen, with the grades of Seen documents."""
    return {
        query: {document: grade for document, grade in grades.items() if document in kept}
        for query, grades in judgments.items()
        if kept.issuperset(_relevant(grades))
    }


def _relevant(grades: dict[str, int]) -> Iterable[str]:
    return (document for document, grade in grades.items() if grade > 0)


def _write(splits: dict[str, Judgments], folder: Path) -> None:
    for split, judgments in splits.items():
        with (folder / f"{split}.tsv").open("w", encoding="utf-8", newline="\n") as file:
            file.write(HEADER)
            for query, grades in judgments.items():
                file.writelines(f"{query}\t{document}\t{g}\n" for document, g in grades.items())
