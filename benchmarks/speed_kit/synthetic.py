"""An engine's arrays for any number of documents, without texts: what a search by vectors reads.

N distinct terms a document, drawn by Zipf's law (`decoding_kit.synthetic`), with random weights;
one random vector of about length 1 for each document and each term. Everything is written straight
into memory-mapped files, in the names and forms of an engine's folder, so that the engine's own
search opens them.
"""

from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.lib.format import open_memmap

from decoding_kit.synthetic import TERMS, zipf_sets
from tsgen.arrays import Strings
from tsgen.docids.term_set import SavedKeys, TermSets
from tsgen.model.term_table import TermTable
from tsgen.model.term_vectors import TermVectors
from tsgen.retrieve.vector_search import write_first_stage
from tsgen.settings import TERM_VECTORS, ModelConfig, WordsConfig
from tsgen.terms.words import Splitter

WIDTH = 384
SPREAD = 24  # of a vector's numbers in 8 bits, for vectors of about length 1
CHUNK = 200_000
LETTERS = "bcfkmpvxz"  # words of these have no ending that a stemmer would take off


def write_engine(cache: Path, documents: int, n: int) -> Path:
    """The folder with the arrays and the model of so many documents, written if it is not there."""
    folder = cache / f"engine-{documents}x{n}"
    if (folder / "done").exists():
        return folder
    terms, model = folder / "terms", folder / "model"
    terms.mkdir(parents=True, exist_ok=True)
    _write_model(model)
    _write_sets(cache, terms, documents, n)
    sets = TermSets.load(terms)
    write_first_stage(terms, sets, TermTable.open(model))
    (folder / "done").touch()
    return folder


def words() -> list[str]:
    """The spellings of all terms, ascending."""
    return ["".join(letters) for letters in islice(product(LETTERS, repeat=5), TERMS)]


def _write_model(folder: Path) -> None:
    """MiniLM with random term vectors."""
    config = ModelConfig(backbone=TERM_VECTORS)
    model: Any = TermVectors.create(config, words())
    vectors = np.random.default_rng(0).normal(size=(TERMS, WIDTH)).astype(np.float32)
    model.vectors.copy_(model.vectors.new_tensor(vectors / WIDTH**0.5))
    model.save(folder)


def _write_sets(cache: Path, folder: Path, documents: int, n: int) -> None:
    sets, rng = zipf_sets(cache, documents, n), np.random.default_rng(0)
    for name in ("doc_offsets", "doc_terms", "post_offsets", "post_docs"):
        target = folder / f"{name}.npy"
        target.unlink(missing_ok=True)
        target.hardlink_to(cache / f"zipf-{documents}x{n}-0" / f"{name}.npy")
    weights = open_memmap(folder / "doc_weights.npy", "w+", np.float16, (documents * n,))
    vectors = open_memmap(folder / "doc_vectors.npy", "w+", np.int8, (documents, WIDTH))
    ids = np.empty((documents, 8), np.uint8)  # eight digits each
    for first in range(0, documents, CHUNK):
        rows = slice(first, min(first + CHUNK, documents))
        count = rows.stop - rows.start
        drawn = rng.random((count, n), np.float32)
        weights[rows.start * n : rows.stop * n] = -np.sort(-drawn, axis=1).ravel()
        vectors[rows] = rng.integers(-SPREAD, SPREAD + 1, (count, WIDTH), np.int8)
        numbers = np.arange(rows.start, rows.stop)
        ids[rows] = numbers[:, None] // 10 ** np.arange(7, -1, -1) % 10 + ord("0")
    np.save(folder / "vector_offsets.npy", np.arange(documents + 1, dtype=np.int64))
    np.save(folder / "vector_passages.npy", np.ones(documents, np.int32))
    Strings(np.arange(documents + 1, dtype=np.int64) * 8, ids.ravel()).save(folder, "documents")
    vocabulary, config = Strings.pack(words()), WordsConfig()
    vocabulary.save(folder, "vocabulary")
    SavedKeys.of(vocabulary, Splitter(config)).save(folder)
    (folder / "words.json").write_bytes(orjson.dumps(config.model_dump(mode="json")))
    assert len(sets) == documents
