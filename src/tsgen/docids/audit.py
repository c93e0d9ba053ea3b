"""The audit of term sets: every document is walked to through the index, as a decoder would."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsgen.artifact import open_artifact
from tsgen.docids.stage import FIRST, KIND, summary
from tsgen.docids.term_set import ARRAYS, TermSets
from tsgen.docids.tokens import TokenCounts, count_tokens
from tsgen.docids.walk import walk
from tsgen.terms.arrays import load_array
from tsgen.terms.encoder import MINILM

LONGEST = 10
NAMED = 5


@dataclass(frozen=True, slots=True)
class Audit:
    """What is in a folder of term sets, or in an engine.

    A document is unreachable if generating T(D) does not lead to it, or leads to documents with
    equal sets that are not recorded as its duplicates.
    """

    folder: str
    weights: str
    n: int
    documents: int
    terms_per_document: dict[int, int]  # size of T(D) → documents
    moved: int  # collisions resolved: documents that swapped a term to differ from another
    duplicate_groups: int  # sets shared by documents with the same words
    duplicate_documents: int
    subset_pairs: int  # T(A) ⊂ T(B), A ≠ B, the sets not equal
    unreachable: int
    unreachable_examples: list[str]
    vocabulary: int
    postings: int
    longest_postings: dict[str, int]
    bytes: dict[str, int]  # of each part
    index_bytes: int  # of T and Φ, what a decoder walks
    bytes_per_document: float
    tokens: TokenCounts
    added: int = 0  # of an engine's documents those that came after its base was written
    removed: int = 0  # of the base's documents those that are gone
    problems: list[str] = field(default_factory=list)  # with an engine's files and its store


def audit(folder: Path, tokenizer: str = MINILM) -> Audit:
    """Open a folder of term sets and check everything it promises."""
    weights = str(open_artifact(folder, KIND).config["weights"])
    recorded = load_array(folder, FIRST)
    return audit_sets(folder, TermSets.load(folder), recorded, weights, summary(folder), tokenizer)


def audit_sets(
    folder: Path,
    sets: TermSets,
    recorded: NDArray[np.int32],
    weights: str,
    facts: Mapping[str, int],
    tokenizer: str,
) -> Audit:
    """Check term sets; `recorded` [D] has for each document the first of its duplicates."""
    found = walk(sets)
    lost = np.flatnonzero(~found.reached | (found.first != recorded))
    sizes, shared = sets.nbytes(), _shared(found.first)
    return Audit(
        folder=str(folder),
        weights=weights,
        n=facts["n"],
        documents=len(sets),
        terms_per_document=_distribution(np.diff(sets.doc_offsets)),
        moved=facts["moved"],
        duplicate_groups=len(shared),
        duplicate_documents=int(shared.sum()),
        subset_pairs=int(found.supersets.sum()),
        unreachable=len(lost),
        unreachable_examples=[sets.document_id(int(document)) for document in lost[:NAMED]],
        vocabulary=len(sets.vocabulary),
        postings=len(sets.post_docs),
        longest_postings=_longest(sets),
        bytes=sizes,
        index_bytes=sum(sizes[name] for name in ARRAYS),
        bytes_per_document=sum(sizes.values()) / max(len(sets), 1),
        tokens=count_tokens(list(sets.vocabulary), tokenizer),
    )


def term_frequencies(sets: TermSets) -> NDArray[Any]:
    """[V] the number of documents that have each term."""
    return np.diff(sets.post_offsets)


def _distribution(sizes: NDArray[Any]) -> dict[int, int]:
    values, counts = np.unique(sizes, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _shared(first: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many documents have each set that several have."""
    _, members = np.unique(first, return_counts=True)
    return members[members > 1]


def _longest(sets: TermSets) -> dict[str, int]:
    frequencies = term_frequencies(sets)
    order = np.argsort(-frequencies, kind="stable")[:LONGEST]
    return {sets.term(int(term)): int(frequencies[term]) for term in order}
