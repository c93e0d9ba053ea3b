"""The immutable part of a collection: the term sets and documents that an engine was made with, or
that a later compaction wrote."""

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsgen.docids.term_set import TermSets
from tsgen.records import Document
from tsgen.retrieve.documents import LINES, OFFSETS, DocumentStore
from tsgen.retrieve.where import parse
from tsgen.terms.lexicon import FILE as LEXICON
from tsgen.terms.lexicon import Counting, Lexicon

TERMS, BASE = "terms", "base-"
FILTERS = 64  # whose matches are remembered


class Base:
    """Documents and their term sets; what is looked up often is made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sets = TermSets.load(folder / TERMS)
        self.documents = DocumentStore(folder)
        self.matching = lru_cache(FILTERS)(self._matching)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Every document's number by its id."""
        return self.sets.document_numbers()

    @cached_property
    def metadata(self) -> list[Mapping[str, Any]]:
        """Of every document."""
        return [document.metadata for document in self.documents]

    @cached_property
    def lexicon(self) -> Lexicon:
        """Of every document."""
        return Lexicon.load(self.folder)

    def _matching(self, where: str) -> NDArray[np.bool_]:
        """[D] whether a document's metadata passes a filter."""
        passes = parse(where)
        return np.array([passes(metadata) for metadata in self.metadata], np.bool_)


class Bases:
    """The base of an engine's folder by its number, opened once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: tuple[int, Base] | None = None

    def __call__(self, number: int) -> Base:
        """The base of that number."""
        last = self._last  # one read: several threads may ask
        if last is None or last[0] != number:
            last = self._last = number, Base(base_folder(self._folder, number))
        return last[1]


def write_base(
    folder: Path, sets: TermSets, documents: Iterable[Document], lexicon: Lexicon | None = None
) -> None:
    """Fill an existing folder with what `Base` reads; without a lexicon the words are counted."""
    (folder / TERMS).mkdir(exist_ok=True)
    sets.save(folder / TERMS)
    counting = Counting()
    passing = documents if lexicon else counting.passing(documents)
    DocumentStore.write(passing, folder)
    (lexicon or Lexicon(counting.frequencies)).save(folder)


def base_files(folder: Path) -> list[str]:
    """The names of the files that `write_base` wrote into a folder."""
    own = [folder / LINES, folder / f"{OFFSETS}.npy", folder / LEXICON]
    paths = [path for path in (*own, *(folder / TERMS).glob("*")) if path.is_file()]
    return [path.relative_to(folder).as_posix() for path in paths]


def base_folder(engine: Path, number: int) -> Path:
    """Where the base of that number is: the first one in the engine's folder itself."""
    return engine / f"{BASE}{number}" if number else engine
