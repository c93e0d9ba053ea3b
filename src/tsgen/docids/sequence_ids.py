"""Identifiers that are sequences: titles, URLs, queries, codes. One row of tokens a document.

Tokens are those of a backbone's tokenizer, or symbols of their own that mean nothing before
training (codes). Documents may share a row; a search that generates it finds all of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import Offsets, Strings, load_array, offsets_of, save_array, smallest_offsets
from tsgen.docids.spelling import Tokenize

OFFSETS, TOKENS, END = "sequence_offsets", "sequence_tokens", "sequence_end"
DOCUMENTS, SYMBOLS = "documents", "symbols"


@dataclass(frozen=True, slots=True)
class SequenceIds:
    """The identifier of document d is `tokens[offsets[d]:offsets[d + 1]]`, closed by `end`."""

    documents: Strings
    offsets: Offsets  # [D + 1]
    tokens: NDArray[np.int32]
    end: int | None = None  # None: the model does not write where a sequence ends
    symbols: Strings | None = None  # names of symbols that are no tokens; None: the tokenizer's

    @classmethod
    def of(
        cls,
        document_ids: Iterable[str],
        rows: Iterable[Sequence[int]],
        *,
        end: int | None = None,
        symbols: Iterable[str] | None = None,
    ) -> Self:
        """Identifiers from a row of tokens for each document."""
        rows = list(rows)
        offsets = offsets_of(np.array([len(row) for row in rows], np.int64))
        tokens = np.fromiter(chain.from_iterable(rows), np.int32)
        names = None if symbols is None else Strings.pack(symbols)
        return cls(Strings.pack(document_ids), smallest_offsets(offsets), tokens, end, names)

    @classmethod
    def of_texts(
        cls,
        document_ids: Iterable[str],
        texts: Sequence[str],
        tokenize: Tokenize,
        end: int,
        longest: int,
    ) -> Self:
        """Identifiers from a text for each document, cut to `longest` tokens."""
        rows = [row[:longest] for row in tokenize(texts)] if texts else []
        return cls.of(document_ids, rows, end=end)

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.offsets) - 1

    def document_numbers(self) -> dict[str, int]:
        """Every document's number by its id."""
        return {document_id: i for i, document_id in enumerate(self.documents)}

    def sequence(self, document: int) -> NDArray[np.int32]:
        """The tokens of a document, without `end`."""
        return self.tokens[self.offsets[document] : self.offsets[document + 1]]

    def closed(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Offsets [D + 1] and tokens of all sequences, each closed by `end` if there is one."""
        offsets = self.offsets.astype(np.int64)
        if self.end is None:
            return offsets, self.tokens
        tokens = np.insert(self.tokens, offsets[1:], self.end).astype(np.int32)
        return offsets + np.arange(len(offsets)), tokens

    def save(self, folder: Path) -> None:
        """Write the arrays into an existing folder."""
        save_array(folder, OFFSETS, self.offsets)
        save_array(folder, TOKENS, self.tokens)
        save_array(folder, END, np.array([] if self.end is None else [self.end], np.int32))
        self.documents.save(folder, DOCUMENTS)
        if self.symbols is not None:
            self.symbols.save(folder, SYMBOLS)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Map the arrays into memory."""
        offsets, tokens, end = (load_array(folder, name) for name in (OFFSETS, TOKENS, END))
        own = (folder / f"{SYMBOLS}.npy").exists()
        symbols = Strings.load(folder, SYMBOLS) if own else None
        documents = Strings.load(folder, DOCUMENTS)
        return cls(documents, offsets, tokens, int(end[0]) if len(end) else None, symbols)
