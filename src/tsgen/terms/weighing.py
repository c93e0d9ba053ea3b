"""The weighing pass: every document's words and weights as arrays, in pieces that survive a kill.

A piece covers a fixed number of documents and is one file; a second call goes on after the last.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import ARRAYS, Strings, offsets_of
from tsgen.artifact import in_pieces
from tsgen.errors import TsgenError
from tsgen.records import Document
from tsgen.terms.weights import Weights

PIECE = 1024  # documents: what a killed run loses at the most
RESERVED = "#"  # no word starts with it
PIECES = "weighed"  # how the files of the pieces begin


@dataclass(frozen=True, slots=True)
class Weighed:
    """Row d holds the distinct words of document d, in no particular order."""

    document_ids: list[str]
    offsets: NDArray[np.int64]  # [D + 1]
    word_ids: NDArray[np.int32]  # [E] places in `words`
    weights: NDArray[np.float32]  # [E]
    words: list[str]  # distinct


def reserved_term(document_id: str) -> str:
    """The one term of a document without words: its id, so that it stays reachable and unique."""
    return RESERVED + quote(document_id, safe="")


def weigh_corpus(
    documents: Iterable[Document],
    weights: Weights,
    folder: Path,
    done: Callable[[int], None] = lambda _: None,
    size: int = PIECE,
) -> Weighed:
    """Weigh all documents, keeping pieces in `folder` and going on after those found there."""

    def work(piece: Sequence[Document], first: int) -> dict[str, NDArray[Any]]:
        weighed = weigh_documents(piece, weights)
        done(first + len(piece))
        return _arrays(weighed)

    return _merge([*map(_weighed, in_pieces(documents, work, folder, size, PIECES, ARRAYS))])


def weigh_documents(documents: Sequence[Document], weights: Weights) -> Weighed:
    """Weigh some documents at once."""
    vocabulary: dict[str, int] = {}
    lengths: list[int] = []
    word_ids: list[int] = []
    values: list[float] = []
    for document, found in zip(documents, weights.weigh(documents), strict=True):
        words = found or {reserved_term(document.id): 0.0}
        lengths.append(len(words))
        word_ids.extend([vocabulary.setdefault(word, len(vocabulary)) for word in words])
        values.extend(words.values())
    ids = [document.id for document in documents]
    offsets = offsets_of(np.array(lengths))
    weighed = np.array(values, np.float32)
    _refuse_bad(weighed, offsets, ids)
    return Weighed(ids, offsets, np.array(word_ids, np.int32), weighed, list(vocabulary))


def _refuse_bad(weights: NDArray[np.float32], offsets: NDArray[np.int64], ids: list[str]) -> None:
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        row = int(np.searchsorted(offsets, bad[0], side="right")) - 1
        raise TsgenError(
            f"document {ids[row]!r}: a word weighs {weights[bad[0]]}, expected a finite number "
            "≥ 0. If the weights are learned, train them again with a lower learning rate."
        )


def _merge(pieces: Sequence[Weighed]) -> Weighed:
    """One vocabulary for all pieces."""
    vocabulary: dict[str, int] = {}
    numbered = []
    for piece in pieces:
        ids = [vocabulary.setdefault(word, len(vocabulary)) for word in piece.words]
        numbered.append(np.array(ids, np.int32)[piece.word_ids])
    lengths = [np.diff(piece.offsets) for piece in pieces]
    return Weighed(
        [document for piece in pieces for document in piece.document_ids],
        offsets_of(np.concatenate([*lengths, np.empty(0, np.int64)])),
        np.concatenate([*numbered, np.empty(0, np.int32)]),
        np.concatenate([*(piece.weights for piece in pieces), np.empty(0, np.float32)]),
        list(vocabulary),
    )


def _arrays(piece: Weighed) -> dict[str, NDArray[Any]]:
    ids, words = Strings.pack(piece.document_ids), Strings.pack(piece.words)
    return {
        "offsets": piece.offsets,
        "word_ids": piece.word_ids,
        "weights": piece.weights,
        "ids": ids.blob,
        "ids_offsets": ids.offsets,
        "words": words.blob,
        "words_offsets": words.offsets,
    }


def _weighed(arrays: dict[str, NDArray[Any]]) -> Weighed:
    return Weighed(
        list(Strings(arrays["ids_offsets"], arrays["ids"])),
        arrays["offsets"],
        arrays["word_ids"],
        arrays["weights"],
        list(Strings(arrays["words_offsets"], arrays["words"])),
    )
