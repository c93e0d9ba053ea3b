"""Description of a data set (`tsgen data`): counts, lengths, samples, and every bad record."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

import numpy as np

from tsgen.corpus.dataset import watched_documents
from tsgen.corpus.sources import Problem, SourcedDataSet
from tsgen.corpus.splits import seen_queries
from tsgen.errors import DataError
from tsgen.records import Document, Judgments

SAMPLES = 5
TRAIN = "train"


@dataclass(frozen=True, slots=True)
class Lengths:
    """Statistics of the lengths of texts, in words separated by white space."""

    mean: float
    median: float
    p95: float
    max: int

    @classmethod
    def of(cls, counts: "array[int]") -> "Lengths":
        """Compute the statistics of word counts; zeros where there are none."""
        values = np.asarray(counts if len(counts) else [0])
        median, p95 = (float(value) for value in np.percentile(values, (50, 95)))
        return cls(round(float(values.mean()), 1), median, round(p95, 1), int(values.max()))


@dataclass(frozen=True, slots=True)
class SplitFigures:
    """Counts of a split; seen and unseen are None for the split train and where there is none."""

    queries: int
    judgments: int
    relevant: int
    seen: int | None = None
    unseen: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A document drawn at random, with one of its queries if it has any."""

    document: Document
    query: str | None


@dataclass(frozen=True, slots=True)
class DataReport:
    """The description of a data set, as `tsgen data` prints it."""

    name: str
    fingerprint: str
    documents: int
    titles: int
    queries: int
    document_words: Lengths
    query_words: Lengths
    splits: dict[str, SplitFigures]
    empty_splits: list[str]
    samples: list[Sample]
    problem_counts: dict[str, int]
    problems: list[Problem]


def describe(data: SourcedDataSet, *, seed: int = 0) -> DataReport:
    """Read a whole data set and describe it.

    A data set that was loaded with `skip_bad=True` collects its bad records, which are described,
    too; else the first one raises `DataError`.
    """
    statistics = _DocumentStatistics(watched_documents(data), seed)
    judgments = {split: _judgments(data, split) for split in data.splits}
    queries = data.queries()
    return DataReport(
        name=data.name,
        fingerprint=data.fingerprint,
        documents=len(statistics.words),
        titles=statistics.titles,
        queries=len(queries),
        document_words=Lengths.of(statistics.words),
        query_words=Lengths.of(array("I", (len(q.text.split()) for q in queries.values()))),
        splits={split: _figures(split, judgments) for split in judgments},
        empty_splits=data.empty_splits,
        samples=[Sample(d, _query_of(d, data, judgments)) for d in statistics.samples],
        problem_counts=data.problems.counts,
        problems=list(data.problems),
    )


class _DocumentStatistics:
    """One pass over the documents: their lengths, and a random sample (reservoir sampling)."""

    def __init__(self, documents: Iterable[Document], seed: int) -> None:
        self.words = array("I")
        self.samples: list[Document] = []
        self.titles = 0
        random = Random(seed)
        for number, document in enumerate(documents):
            self.words.append(len(document.contents.split()))
            self.titles += bool(document.title)
            if number < SAMPLES:
                self.samples.append(document)
            elif (place := random.randrange(number + 1)) < SAMPLES:
                self.samples[place] = document


def _judgments(data: SourcedDataSet, split: str) -> Judgments:
    """The good judgments of a split; none where all are bad and bad ones are skipped."""
    try:
        return data.judgments(split)
    except DataError:
        if not data.problems.skip_bad:
            raise
        return {}


def _figures(split: str, judgments: dict[str, Judgments]) -> SplitFigures:
    own, training = judgments[split], judgments.get(TRAIN)
    grades = [grade for each in own.values() for grade in each.values()]
    sizes = len(own), len(grades), sum(grade > 0 for grade in grades)
    if split == TRAIN or training is None:
        return SplitFigures(*sizes)
    seen = len(seen_queries(own, training))
    return SplitFigures(*sizes, seen, len(own) - seen)


def _query_of(
    document: Document, data: SourcedDataSet, judgments: dict[str, Judgments]
) -> str | None:
    for found in judgments.values():
        for query, grades in found.items():
            if grades.get(document.id, 0) > 0:
                return data.queries()[query].text
    return None
