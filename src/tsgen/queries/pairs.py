"""Pairs of a query and a document that answers it, judged by people or cut out of the texts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tsgen.corpus.dataset import DataSet
from tsgen.records import Document

_FIRST_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and the position of a document that answers it. Where the query was cut out of the
    document, `text` holds the rest of the document's contents."""

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
    """Make pairs for a corpus without training queries: each title with its text, and one sentence
    of each document with the rest of it."""
    rng = np.random.default_rng(seed)
    pairs = []
    for position, document in enumerate(documents):
        if document.title and document.text:
            pairs.append(Pair(document.title, position, document.text))
        sentences = _FIRST_SENTENCE_END.split(document.text)
        if len(sentences) > 1:
            cut = int(rng.integers(len(sentences)))
            rest = " ".join(sentences[:cut] + sentences[cut + 1 :])
            pairs.append(Pair(sentences[cut], position, f"{document.title} {rest}".strip()))
    return pairs


# Splitting a text into sentences and headings.

_MARKED_HEADING = re.compile(r"^\s*(?:#+\s+(?P<hash>.+?)|=+\s*(?P<equals>[^=\n]+?)\s*=+)\s*$", re.M)
_NO_END = "".join(
    rf"(?<!\b{short}\.)"
    for short in "[A-Z] c ca Dr Gen Inc Jr Lt Ltd Mr Mrs Ms Mt No Prof Rev Sgt Sr St vs".split()
)
_SENTENCE_END = re.compile(rf"[.!?]{_NO_END}(?=\s+[^a-z\s])|[。！？]|\n(?=\s*\n)")


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, each on one line, without the marked headings.

    A sentence ends at `.`, `!`, `?` before white space and no small letter, but not after an
    initial (`J. Smith`) or a common English abbreviation (`St. Louis`); at their full-width forms;
    and at an empty line.
    """
    plain = _MARKED_HEADING.sub("\n\n", text)
    ends = [match.end() for match in _SENTENCE_END.finditer(plain)]
    parts = (plain[a:b] for a, b in zip((0, *ends), (*ends, len(plain)), strict=True))
    return [found for part in parts if (found := " ".join(part.split()))]


def headings(text: str) -> list[str]:
    """The headings of a text that are marked as `# Markdown` or `== wiki ==`."""
    return [match["hash"] or match["equals"] for match in _MARKED_HEADING.finditer(text)]
