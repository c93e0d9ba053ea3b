"""What the learners train on: (query, document) pairs, judged by people or made from the texts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tsgen.corpus.dataset import DataSet
from tsgen.records import Document

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and the position of a document that answers it; `text` replaces the document's own
    contents where the query was cut out of it."""

    query: str
    document: int
    text: str | None = None


def judged_pairs(data: DataSet, split: str, positions: Mapping[str, int]) -> list[Pair]:
    """The pairs of a split's judgments, in file order."""
    queries = data.queries()
    return [
        Pair(queries[query].text, positions[document])
        for query, grades in data.judgments(split).items()
        for document, grade in grades.items()
        if grade > 0
    ]


def pseudo_pairs(documents: Sequence[Document], seed: int) -> list[Pair]:
    """For a corpus without training queries: title → text, and one sentence → the rest."""
    rng = np.random.default_rng(seed)
    pairs = []
    for position, document in enumerate(documents):
        if document.title and document.text:
            pairs.append(Pair(document.title, position, document.text))
        sentences = _SENTENCE_END.split(document.text)
        if len(sentences) > 1:
            cut = int(rng.integers(len(sentences)))
            rest = " ".join(sentences[:cut] + sentences[cut + 1 :])
            pairs.append(Pair(sentences[cut], position, f"{document.title} {rest}".strip()))
    return pairs
