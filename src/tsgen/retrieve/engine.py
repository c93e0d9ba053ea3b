"""An engine: a folder with everything that answers queries by generating term sets.

model/                        weights (safetensors), settings and tokenizer of the backbone
terms/                        T(D) and its postings
documents.jsonl, …offsets     ids, titles and texts, to show
settings.json                 how it was made and how it searches
training/iteration-T.jsonl    learning curves
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import orjson

from tsgen.artifact import MANIFEST, open_artifact
from tsgen.decode.config import DecodeConfig
from tsgen.decode.found import as_hits
from tsgen.decode.search import search
from tsgen.docids.stage import TermsConfig, terms_config
from tsgen.docids.term_set import TermSets
from tsgen.errors import ArtifactError
from tsgen.records import Document, Hit
from tsgen.retrieve.documents import DocumentStore
from tsgen.train.config import ModelConfig, TrainConfig
from tsgen.train.generator import Generator
from tsgen.train.iterate import MODEL, GeneratorConfig
from tsgen.write.stage import QueriesConfig, queries_config, wants_queries

KIND = "tsgen"
TERMS, SETTINGS = "terms", "settings.json"


class EngineConfig(GeneratorConfig):
    """The settings of all stages."""

    terms: TermsConfig = TermsConfig()
    queries: QueriesConfig | None = None  # synthetic ones, to train on beside the judged
    decode: DecodeConfig = DecodeConfig(normalise="docid")


def engine_config(tables: Mapping[str, Mapping[str, Any]]) -> EngineConfig:
    """From the tables of a settings file: [terms] (and that of its weights), [queries] (if it names
    a writer), [model], [train], [decode]. Unless told otherwise, decoding normalises p as training
    did."""
    train = TrainConfig.from_mapping(tables.get("train", {}), source="[train]")
    decode = {"normalise": train.softmax} | dict(tables.get("decode", {}))
    return EngineConfig(
        terms=terms_config(tables),
        queries=queries_config(tables) if wants_queries(tables) else None,
        model=ModelConfig.from_mapping(tables.get("model", {}), source="[model]"),
        train=train,
        decode=DecodeConfig.from_mapping(decode, source="[decode]"),
    )


class Engine:
    """A generative retriever that knows its documents."""

    def __init__(
        self, generator: Generator, config: EngineConfig, documents: DocumentStore
    ) -> None:
        self.generator, self.config, self.documents = generator, config, documents

    def search(
        self, queries: Sequence[str], k: int = 10, beam: int | None = None
    ) -> list[list[Hit]]:
        """At most `k` hits for each query, best first, each with its reason: the terms in the order
        they were generated, their log p, and |Y| after each."""
        sets, decode = self.generator.sets, self.config.decode
        if beam is not None:
            decode = DecodeConfig.from_mapping(decode.model_dump() | {"beam": beam})
        found = search(self.generator.backbone, self.generator.constraint, queries, k, decode)
        return [as_hits(hits, sets.documents, sets.vocabulary) for hits in found]

    def document(self, document_id: str) -> Document:
        """The document of a hit."""
        return self.documents[self._numbers[document_id]]

    def save(self, folder: Path) -> None:
        """Write everything into an existing, empty folder."""
        write_engine(folder, self.generator, self.config, self.documents)

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Open the folder that `tsgen fit`, `tsgen index` or `save` wrote."""
        folder = Path(folder)
        if (folder / MANIFEST).is_file() or not (folder / SETTINGS).is_file():
            open_artifact(folder, KIND)
        settings = orjson.loads(_read(folder / SETTINGS))
        config = EngineConfig.from_mapping(settings, source=f"{folder / SETTINGS}")
        sets = TermSets.load(folder / TERMS)
        generator = Generator.load(folder / MODEL, sets, config.model.query_tokens)
        return cls(generator, config, DocumentStore(folder))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return self.generator.sets.document_numbers()


def write_engine(
    folder: Path, generator: Generator, config: EngineConfig, documents: Iterable[Document]
) -> None:
    """All files of an engine but its learning curves."""
    generator.backbone.save(folder / MODEL)
    (folder / TERMS).mkdir(exist_ok=True)
    generator.sets.save(folder / TERMS)
    DocumentStore.write(documents, folder)
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
