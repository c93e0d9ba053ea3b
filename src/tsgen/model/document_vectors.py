"""The stages that read every document into vectors, and the generator that learns from them.

The vectors depend on the documents, the encoder and its window alone, so engines share them. The
beginnings of documents, as far as the window reaches, are a stage of their own, which the dense
system has in common with the engines; the passages of longer documents are another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import ARRAYS, load_array, save_array
from tsgen.artifact import in_pieces, remove_pieces, stage, stage_key
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.docids.term_set import TermSets
from tsgen.progress import show
from tsgen.records import Document
from tsgen.settings import ModelConfig
from tsgen.terms.passages import MOST, OVERLAP, WORDS, DocumentVectors, passage_texts
from tsgen.terms.sentences import SHORTEST, TextVectors

if TYPE_CHECKING:  # imported with torch, which reading new documents does without
    from tsgen.model.backbone import Backbone
    from tsgen.model.generator import Generator

BEGINNINGS, PASSAGES = "vectors", "passages"  # the kinds of the stages
VECTORS, COUNTS = "vectors", "counts"  # the arrays
SENTENCES, SENTENCE_COUNTS = "sentences", "sentence_counts"
PIECE = 1024  # documents a file: what a killed run loses at the most


class VectorsConfig(StageConfig):
    """What the vectors of documents depend on beside the documents."""

    encoder: str
    """The encoder that reads documents."""

    document_tokens: int
    """The tokens of each document, or of each of its passages, that are read."""

    shortest: int = SHORTEST
    """The characters of a sentence, at least."""


class PassagesConfig(VectorsConfig):
    """What the vectors of passages depend on beside the documents."""

    words: int = WORDS
    """The words of a passage."""

    overlap: int = OVERLAP
    """The words that a passage shares with the next one, in a text without paragraphs."""

    most: int = MOST
    """The vectors of one document, at most."""

    passages: bool
    """Whether documents have passages at all."""


Arrays = dict[str, NDArray[Any]]
Watch = Callable[[int], None]


class ReadsDocuments(Protocol):
    """A backbone, or the encoder that it was saved with."""

    def document_vectors(self, texts: Sequence[str], watch: Watch = ..., /) -> TextVectors | None:
        """The vectors of texts and of their sentences; None from what keeps no vectors."""
        ...

    def longer_than_window(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether `document_vectors` leaves out the end of each of these texts [T]."""
        ...


def read_vectors(
    data: DataSet, config: ModelConfig, backbone: Backbone, cache: Path
) -> TextVectors:
    """The vectors of the beginnings of all documents; they stay in `cache`."""
    from tsgen.model.backbone import backbone_version

    settings = VectorsConfig(encoder=config.encoder, document_tokens=config.document_tokens)

    def read(piece: Sequence[Document], watch: Watch) -> Arrays:
        return _arrays(backbone.document_vectors([one.contents for one in piece], watch))

    folder = _read_in_pieces(data, BEGINNINGS, settings, backbone_version(config), read, cache)
    return _text_vectors(folder)


def read_passages(
    data: DataSet, config: ModelConfig, backbone: Backbone, cache: Path
) -> DocumentVectors:
    """The vectors of all documents; they stay in `cache`."""
    from tsgen.model.backbone import backbone_version

    read_by = {"encoder": config.encoder, "document_tokens": config.document_tokens}
    settings = PassagesConfig(**read_by, passages=config.passages)
    beginnings = read_vectors(data, config, backbone, cache)

    def read(piece: Sequence[Document], watch: Watch) -> Arrays:
        counts, more = _read_long(piece, backbone, watch)
        return {COUNTS: counts} | _arrays(more)

    folder = _read_in_pieces(data, PASSAGES, settings, backbone_version(config), read, cache)
    return DocumentVectors.joined(beginnings, load_array(folder, COUNTS), _text_vectors(folder))


def read_documents(documents: Sequence[Document], reader: ReadsDocuments) -> DocumentVectors | None:
    """The vectors of documents that are not in a data set; None if the model keeps no vectors."""
    beginnings = reader.document_vectors([one.contents for one in documents])
    if beginnings is None:
        return None
    return DocumentVectors.joined(beginnings, *_read_long(documents, reader))


def _read_long(
    documents: Sequence[Document], reader: ReadsDocuments, watch: Watch = lambda _: None
) -> tuple[NDArray[np.int64], TextVectors]:
    """How many passages each document [D] has after its beginning, and the vectors of all; none
    for a document that fits the window."""
    longer = reader.longer_than_window([one.contents for one in documents]).tolist()
    texts = [
        passage_texts(one) if long else [] for one, long in zip(documents, longer, strict=True)
    ]
    counts = np.array([len(own) for own in texts], np.int64)
    parts = [text for own in texts for text in own]
    found = reader.document_vectors(parts, lambda done: watch(done * len(documents) // len(parts)))
    assert found is not None
    return counts, found


def _arrays(found: TextVectors | None) -> Arrays:
    """Vectors of texts as a stage keeps them."""
    assert found is not None
    whole, sentences = found.whole.astype(np.float16), found.sentences.astype(np.float16)
    return {VECTORS: whole, SENTENCE_COUNTS: found.counts, SENTENCES: sentences}


def _text_vectors(folder: Path) -> TextVectors:
    """The vectors of texts that a stage kept."""
    whole, counts, sentences = (
        load_array(folder, name) for name in (VECTORS, SENTENCE_COUNTS, SENTENCES)
    )
    return TextVectors(whole.astype(np.float32), counts, sentences)


def _read_in_pieces(
    data: DataSet,
    kind: str,
    settings: VectorsConfig,
    version: dict[str, str],
    read: Callable[[Sequence[Document], Watch], Arrays],
    cache: Path,
) -> Path:
    """The folder of a stage that reads all documents, a piece at a time, into arrays."""
    inputs = {"documents": data.fingerprint} | version
    key = stage_key(kind, settings.model_dump(mode="json"), inputs, 0)
    folder = cache / f"{kind}-{key[:12]}"

    def work(partial: Path) -> None:
        size = sum(1 for _ in data.documents())
        what = "reading documents" if kind == BEGINNINGS else "reading long documents"

        def watched(piece: Sequence[Document], first: int) -> Arrays:
            show(what, first, size)
            return read(piece, lambda done: show(what, first + done, size))

        pieces = list(in_pieces(data.documents(), watched, partial, PIECE, kind, ARRAYS))
        for name in pieces[0]:
            save_array(partial, name, np.concatenate([piece[name] for piece in pieces]))
        remove_pieces(partial, kind)

    stage(folder, work, kind=kind, config=settings, inputs=inputs, keep_pieces=True)
    return folder


def learned_generator(
    data: DataSet, config: ModelConfig, sets: TermSets, seed: int, cache: Path
) -> Generator:
    """A generator before any training with queries. A model that keeps vectors of documents
    reads the documents and learns their terms from the vectors; its sets hold the vectors."""
    from tsgen.model.generator import Generator

    generator = Generator.new(config, sets, seed)
    if generator.backbone.document_vectors([]) is None:
        return generator
    vectors = read_passages(data, config, generator.backbone, cache)
    return Generator.of(generator.backbone, sets.with_vectors(vectors)).learned()
