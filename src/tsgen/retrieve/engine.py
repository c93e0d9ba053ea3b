"""An engine: a folder with everything that answers queries by generating term sets.

model/                        weights (safetensors), settings and tokenizer of the backbone
terms/                        T(D) and its postings
documents.jsonl, …offsets     ids, titles, texts and metadata, to show and to filter by
lexicon.json                  the documents' words, to read misspelt queries by
confidence.json               how sure it is of its first hits, if that was calibrated
weights/                      what gave the documents their terms, for documents that come later
settings.json                 how it was made and how it searches
training/iteration-T.jsonl    learning curves
collection.sqlite             what was put and removed since (see `collection`)
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson

from tsgen.artifact import MANIFEST, open_artifact
from tsgen.constrain.constraint import Int32, Ragged
from tsgen.decode.hypotheses import Found, as_hits
from tsgen.decode.search import search
from tsgen.docids.assign import KEPT, terms_config
from tsgen.errors import ArtifactError, DataError
from tsgen.model.generator import Generator
from tsgen.model.vocabulary import whole_words
from tsgen.records import Document, Hit
from tsgen.retrieve.confidence import DEPTH, Calibration, sure_enough
from tsgen.retrieve.snapshot import Reader, View
from tsgen.retrieve.storage import write_base
from tsgen.settings import (
    DecodeConfig,
    EngineConfig,
    ModelConfig,
    SearchConfig,
    TrainConfig,
)
from tsgen.synthetic.writing import queries_config, wants_queries
from tsgen.train.iterate import MODEL

# Searching among some of the documents: Y starts from these, so nothing else can be found.

WIDER = 4  # times as many beams where too few documents were found
WIDEST = 1024


def search_among(
    generator: Generator, queries: Sequence[str], k: int, decode: DecodeConfig, documents: Int32
) -> list[list[Found]]:
    """At most `k` of these documents (ascending numbers) for each query, best first.

    A beam that found fewer although there are more is widened, until there are k or all.
    """
    if not len(documents):
        return [[] for _ in queries]
    pool, wanted = pool_of(documents), min(k, len(documents))
    backbone, constraint = generator.backbone, generator.constraint
    found = search(backbone, constraint, queries, k, decode, pool)
    short = [i for i, hits in enumerate(found) if len(hits) < wanted]
    while short and (wider := widened(decode)) is not None:
        decode = wider
        again = search(backbone, constraint, [queries[i] for i in short], k, decode, pool)
        for i, hits in zip(short, again, strict=True):
            found[i] = hits
        short = [i for i in short if len(found[i]) < wanted]
    return found


def pool_of(documents: Int32) -> Ragged:
    """These documents for every query."""
    return Ragged(np.array([0, len(documents)]), documents)


def widened(decode: DecodeConfig) -> DecodeConfig | None:
    """The same settings with the next wider beam; None if there is none."""
    if decode.beam >= WIDEST:
        return None
    return decode.with_beam(min(WIDER * decode.beam, WIDEST))


KIND = "tsgen"
SETTINGS = "settings.json"


def engine_config(tables: Mapping[str, Mapping[str, Any]]) -> EngineConfig:
    """From the tables of a settings file: [terms] (and that of its weights), [queries] (if it names
    a writer), [model], [train], [decode], [search]. Unless told otherwise, decoding normalises p
    as training did."""
    train = TrainConfig.from_mapping(tables.get("train", {}), source="[train]")
    decode = {"normalise": train.softmax} | dict(tables.get("decode", {}))
    return EngineConfig(
        terms=terms_config(tables),
        queries=queries_config(tables) if wants_queries(tables) else None,
        model=ModelConfig.from_mapping(tables.get("model", {}), source="[model]"),
        train=train,
        decode=DecodeConfig.from_mapping(decode, source="[decode]"),
        search=search_config(tables),
    )


def search_config(tables: Mapping[str, Mapping[str, Any]]) -> SearchConfig:
    """From the table [search] of a settings file."""
    return SearchConfig.from_mapping(tables.get("search", {}), source="[search]")


class Engine:
    """A generative retriever that knows its documents."""

    def __init__(
        self,
        generator: Generator,
        config: EngineConfig,
        documents: View,
        weights: Path | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        """`weights` is the folder of what gives new documents their terms, if there is one;
        `calibration` is what makes hits sure of themselves."""
        self.generator, self.config, self.documents = generator, config, documents
        self.weights, self.calibration = weights, calibration

    def search(
        self,
        queries: Sequence[str],
        k: int = 10,
        beam: int | None = None,
        where: str | None = None,
        min_confidence: float | None = None,
    ) -> list[list[Hit]]:
        """At most `k` hits for each query, best first, each with its reason: the terms in the order
        they were generated, their log p, and |Y| after each. `where` limits the documents to those
        whose metadata passes it (see `where.py`). A query whose first hit has a confidence below
        `min_confidence` has none."""
        sets, decode = self.generator.sets, self.config.decode.with_beam(beam)
        queries = [self.read(query) for query in queries]
        depth = k if self.calibration is None else max(k, DEPTH)
        if where is not None:
            among = self.documents.matching(where)
            found = search_among(self.generator, queries, depth, decode, among)
        else:
            parts = self.generator.backbone, self.generator.constraint
            found = search(*parts, queries, depth, decode)
        hits = [as_hits(one, sets.documents, sets.vocabulary) for one in found]
        return sure_enough(hits, k, self.calibration, min_confidence)

    def read(self, query: str) -> str:
        """The query as the model is given it: with `search.correct`, misspelt words corrected; a
        word that its tokenizer has whole is not misspelt."""
        if not self.config.search.correct:
            return query
        known = whole_words(self.generator.backbone.tokenizer)
        return self.documents.lexicon.correct(query, known)

    def document(self, document_id: str) -> Document:
        """The document of a hit; `DataError` if there is none of that id."""
        return self.documents[self.number(document_id)]

    def number(self, document_id: str) -> int:
        """The number of a document in the term sets; `DataError` if there is none of that id."""
        number = self.documents.number(document_id)
        if number is None:
            raise DataError(
                f"{document_id!r}: no such document; expected an id of this engine's. `tsgen "
                "search` prints the ids of what it finds."
            )
        return number

    def save(self, folder: Path) -> None:
        """Write everything into an existing, empty folder."""
        write_engine(folder, self.generator, self.config, self.documents)
        if self.weights is not None:
            shutil.copytree(self.weights, folder / KEPT)
        if self.calibration is not None:
            self.calibration.save(folder)

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Open the folder that `tsgen fit`, `tsgen index` or `save` wrote, as it is now: what
        changes later is seen by a `Collection`."""
        folder = Path(folder)
        config = open_settings(folder)
        found = Reader(folder, config.model.query_tokens).read()
        calibration = Calibration.load(folder)
        return cls(found.generator, config, found.documents, weights_folder(folder), calibration)


def open_settings(folder: Path) -> EngineConfig:
    """The settings of an engine's folder, its files checked."""
    if (folder / MANIFEST).is_file() or not (folder / SETTINGS).is_file():
        open_artifact(folder, KIND)
    settings = orjson.loads(_read(folder / SETTINGS))
    return EngineConfig.from_mapping(settings, source=f"{folder / SETTINGS}")


def weights_folder(folder: Path) -> Path | None:
    """What gives new documents their terms, if the engine has kept it."""
    return folder / KEPT if (folder / KEPT).is_dir() else None


def write_engine(
    folder: Path, generator: Generator, config: EngineConfig, documents: Iterable[Document]
) -> None:
    """All files of an engine but its learning curves."""
    generator.backbone.save(folder / MODEL)
    write_base(folder, generator.sets, documents)
    values = config.model_dump(mode="json")
    (folder / SETTINGS).write_bytes(orjson.dumps(values, option=orjson.OPT_INDENT_2))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(
            f"{path}: {error.strerror}; expected an engine that `tsgen fit` or `tsgen "
            "index` wrote. Check the path."
        ) from None
