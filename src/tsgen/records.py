"""The small frozen records that every stage speaks in. Files become records only at the edges."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

NO_METADATA: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an id; `title` may be empty, `metadata` holds whatever else came with it."""

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=lambda: NO_METADATA, compare=False)

    @property
    def contents(self) -> str:
        """Title and text as one string, as every retriever indexes it."""
        return f"{self.title} {self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Query:
    """A question with an id."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Judgment:
    """A human's word that a document answers a query; `grade` ≥ 1 is relevant."""

    query_id: str
    document_id: str
    grade: int = 1


@dataclass(frozen=True, slots=True)
class TermSet:
    """T(D): the terms that identify a document, heaviest first, with their weights."""

    document_id: str
    terms: tuple[str, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a generative system returned a document: the terms in the order they were generated,
    each one's log p, and |Y|, the number of documents still valid after it."""

    terms: tuple[str, ...]
    log_probs: tuple[float, ...]
    valid_documents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer to a query; the first one of a calibrated engine has a confidence, the
    probability that it is right. Of a long document, `passage` is the number of the passage that is
    nearest to the query; `tsgen.retrieve.results.nearest_passage` says where it is."""

    document_id: str
    score: float
    reason: Reason | None = None
    confidence: float | None = None
    passage: int | None = None


Judgments = dict[str, dict[str, int]]
"""Query id → document id → grade."""

Run = dict[str, list[Hit]]
"""Query id → hits, best first."""
