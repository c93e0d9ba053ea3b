"""The audit of term sets: whether generating T(D) leads to D through the index, for every D."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tsgen.arrays import Offsets, load_array
from tsgen.artifact import open_artifact
from tsgen.docids.assign import FIRST, KIND, summary
from tsgen.docids.term_set import ARRAYS, TermSets
from tsgen.errors import ConfigError
from tsgen.settings import MINILM
from tsgen.terms.encoder import packaged_minilm

# Tokens per term of a language model's tokenizer: each token is a step of the decoder.

FILE = "tokenizer.json"


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens per term over a vocabulary, without the terminator."""

    tokenizer: str
    mean: float
    most: int
    share_of_one: float  # of the terms, those of a single token


def count_tokens(terms: Sequence[str], tokenizer: str = MINILM) -> TokenCounts:
    """Count the tokens of every distinct term."""
    tokenise = open_tokenizer(tokenizer)
    tokenise.no_padding()
    tokenise.no_truncation()
    encoded = tokenise.encode_batch(list(terms), add_special_tokens=False)
    counts = np.array([len(term.ids) for term in encoded] or [0])
    return TokenCounts(
        tokenizer, float(counts.mean()), int(counts.max()), float((counts == 1).mean())
    )


def open_tokenizer(name: str) -> Tokenizer:
    """Open a `tokenizer.json`, a folder with one, the packaged MiniLM's, or one of the hub."""
    path = packaged_minilm() if name == MINILM else Path(name)
    path = path / FILE if path.is_dir() else path
    try:
        if path.is_file():
            return Tokenizer.from_file(str(path))
        return Tokenizer.from_pretrained(name)
    except Exception as error:  # the library raises bare Exception for damaged and unknown files
        raise ConfigError(
            f"cannot open the tokenizer {name!r}: {str(error).rstrip('.')}. "
            f"Expected {MINILM!r}, a {FILE}, a folder with one, or a hub name with network."
        ) from None


# Walking the index: the documents that the terms of each document lead to.

Int32 = NDArray[np.int32]


class Walks(NamedTuple):
    """The documents Y that are left when T(D) has been generated, for each document D."""

    reached: NDArray[np.bool_]  # [D] whether D is in Y
    first: Int32  # [D] the lowest-numbered one in Y with as many terms as D, so with its set; or −1
    supersets: NDArray[np.int64]  # [D] how many in Y have more terms: T(D) ⊂ T


def walk(sets: TermSets) -> Walks:
    """Intersect the postings of T(D) for every document D."""
    longest = int(np.diff(sets.post_offsets).max(initial=0))
    arrays = sets.doc_offsets, sets.doc_terms, sets.post_offsets, sets.post_docs
    return Walks(*_walk(*arrays, np.empty(longest, np.int32)))


@njit(cache=True)
def _walk(
    doc_offsets: Offsets, doc_terms: Int32, post_offsets: Offsets, post_docs: Int32, valid: Int32
) -> tuple[NDArray[np.bool_], Int32, NDArray[np.int64]]:
    documents = len(doc_offsets) - 1
    reached = np.zeros(documents, np.bool_)
    first = np.full(documents, -1, np.int32)
    supersets = np.zeros(documents, np.int64)
    for document in range(documents):
        terms = doc_terms[doc_offsets[document] : doc_offsets[document + 1]]
        for other in valid[: _intersect(terms, post_offsets, post_docs, valid)]:
            reached[document] |= other == document
            size = doc_offsets[other + 1] - doc_offsets[other]
            if size == len(terms) and first[document] < 0:
                first[document] = other
            supersets[document] += size > len(terms)
    return reached, first, supersets


@njit(cache=True)
def _intersect(terms: Int32, post_offsets: Offsets, post_docs: Int32, valid: Int32) -> int:
    """Write the documents that have all terms to `valid`, from the rarest term on; their number."""
    if len(terms) == 0:
        return 0
    rarest = terms[0]
    for term in terms:
        if (
            post_offsets[term + 1] - post_offsets[term]
            < post_offsets[rarest + 1] - post_offsets[rarest]
        ):
            rarest = term
    count = post_offsets[rarest + 1] - post_offsets[rarest]
    valid[:count] = post_docs[post_offsets[rarest] : post_offsets[rarest + 1]]
    for term in terms:
        postings = post_docs[post_offsets[term] : post_offsets[term + 1]]
        kept = 0
        for document in valid[:count]:
            at = np.searchsorted(postings, document)
            if at < len(postings) and postings[at] == document:
                valid[kept] = document
                kept += 1
        count = kept
    return int(count)


LONGEST = 10
NAMED = 5


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings of an audit of a folder of term sets, or of an engine.

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
    added: int = 0  # documents of an engine that were added after its base was written
    removed: int = 0  # documents of the base that were removed
    problems: list[str] = field(default_factory=list)  # with an engine's files and its store


def audit(folder: Path, tokenizer: str = MINILM) -> Audit:
    """Open a folder of term sets and check that every document can be reached."""
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
    """Check term sets that are in memory.

    Args:
        folder: named in the findings.
        sets: the term sets.
        recorded: [D] the first document with the same set as each document.
        weights: the name of the weights that chose the terms.
        facts: the counts of the selection, as `summary` gives them.
        tokenizer: whose tokens per term are counted.
    """
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
    """The number of documents of each set that several documents have."""
    _, members = np.unique(first, return_counts=True)
    return members[members > 1]


def _longest(sets: TermSets) -> dict[str, int]:
    frequencies = term_frequencies(sets)
    order = np.argsort(-frequencies, kind="stable")[:LONGEST]
    return {sets.term(int(term)): int(frequencies[term]) for term in order}
