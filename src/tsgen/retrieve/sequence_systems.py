"""Systems whose identifiers are sequences: their settings, how they are fitted, and searched.

Such a system is a scheme that gives each document a sequence. The rest is the same for all: the
backbone, the training pairs and the beam are those of the term sets that they are compared with.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import orjson
from pydantic import model_validator

from tsgen.config import StageConfig, merged
from tsgen.corpus.dataset import DataSet
from tsgen.decode.hypotheses import Texts, as_hits
from tsgen.decode.search import search
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.model.backbone import tokenizer_of
from tsgen.queries.pairs import Pair
from tsgen.records import Hit
from tsgen.retrieve.systems import SYSTEMS, Fitted, Retriever, Searcher, System, Tables
from tsgen.settings import (
    MINI_FLAT,
    DecodeConfig,
    ModelConfig,
    PairsConfig,
    QueriesConfig,
    SequenceTrainConfig,
)
from tsgen.synthetic.writing import QUERIES, make_queries, queries_config, wants_queries
from tsgen.train.examples import Validation, numbered_examples
from tsgen.train.iterate import MODEL
from tsgen.train.sequence_generator import (
    SequenceGenerator,
    end_token,
    new_backbone,
    train_sequences,
)
from tsgen.training_loop import remove_checkpoint, shown

IDS, SETTINGS = "ids", "decode.json"
DECODE = {"beam", "batch"}  # what a search over sequences takes from the table [decode]


class SequenceConfig(StageConfig):
    """The settings of a system whose identifiers are sequences."""

    queries: QueriesConfig | None = None
    """Synthetic queries to train on beside the judged ones; unset: none."""

    model: ModelConfig = ModelConfig(backbone=MINI_FLAT, spelling="subword")
    """The generator."""

    train: SequenceTrainConfig = SequenceTrainConfig()
    """Its training."""

    decode: DecodeConfig = DecodeConfig(normalise="docid")
    """How a query is searched; of the table [decode] only `beam` and `batch` count."""

    @model_validator(mode="after")
    def _sequences_only(self) -> Self:
        """Refuse before any training what a search over sequences would refuse after it."""
        if self.decode.uses_prior or self.decode.reranks or self.decode.in_order:
            raise ValueError(
                "decode.pool, fill, look_ahead, prior_weight, lexical_weight and in_order are "
                "about term sets, these identifiers are sequences; leave them out"
            )
        return self


Config = TypeVar("Config", bound=SequenceConfig)


def settings_of(name: str, config: type[Config]) -> Callable[[Tables], Config]:
    """A function for `System.from_tables`: it lays the table [name] over those of the stages,
    [queries], [model], [train] and [decode], as far as they are not about term sets."""

    def settings(tables: Tables) -> Config:
        own = dict(tables.get(name, {}))
        stages = {
            "queries": dict(tables.get("queries", {})),
            "model": dict(tables.get("model", {})),
            "train": _for_sequences(tables.get("train", {})),
            "decode": {k: v for k, v in tables.get("decode", {}).items() if k in DECODE},
        }
        values = {stage: merged(table, own.pop(stage, {})) for stage, table in stages.items()}
        written = queries_config(values) if wants_queries(values) else None
        values["queries"] = written and written.model_dump()  # type: ignore[assignment]
        values["decode"].setdefault("normalise", values["train"].get("normalise", "docid"))
        return config.from_mapping(own | values, source=f"[{name}]")

    return settings


def _for_sequences(train: Mapping[str, Any]) -> dict[str, Any]:
    """The table [train] without the settings that are about term sets."""
    known = {k: v for k, v in train.items() if k in SequenceTrainConfig.model_fields}
    if known.get("normalise") == "valid":
        del known["normalise"]
    validation = known.pop("validation", {})
    return known | {"validation": {"normalise": "docid"} | _kept(validation)}


def _kept(decode: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in decode.items() if k in DECODE}


class SequenceRetriever:
    """A retriever that generates a document's sequence inside a trie."""

    def __init__(self, generator: SequenceGenerator, config: SequenceConfig) -> None:
        self.generator, self.config = generator, config

    def search(self, queries: Sequence[str], k: int, beam: int | None = None) -> list[list[Hit]]:
        """At most `k` hits for each query, best first, each with its sequence as the reason."""
        parts = self.generator.backbone, self.generator.constraint
        found = search(*parts, queries, k, self.config.decode.with_beam(beam))
        names = self.names()
        return [as_hits(hits, self.generator.ids.documents, names) for hits in found]

    def save(self, folder: Path) -> None:
        """Write the model, the identifiers and the settings."""
        self.generator.backbone.save(folder / MODEL)
        _save_ids(self.generator.ids, folder)
        values = self.config.model_dump(mode="json")
        (folder / SETTINGS).write_bytes(orjson.dumps(values, option=orjson.OPT_INDENT_2))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open a folder that `save` wrote."""
        values = orjson.loads((folder / SETTINGS).read_bytes())
        common = {k: v for k, v in values.items() if k in SequenceConfig.model_fields}
        config = SequenceConfig.from_mapping(common, source=f"{folder / SETTINGS}")
        ids = SequenceIds.load(folder / IDS)
        return cls(SequenceGenerator.load(folder / MODEL, ids, config.model), config)

    def names(self) -> Texts:
        """The printed name of each token."""
        symbols = self.generator.ids.symbols
        return _Pieces(self.generator.backbone.tokenizer) if symbols is None else symbols


@dataclass(frozen=True, slots=True)
class _Pieces:
    tokenizer: Any

    def __getitem__(self, number: int) -> str:
        return str(self.tokenizer.convert_ids_to_tokens(number))


def register_sequences(
    name: str,
    config: type[SequenceConfig],
    fit: Callable[[DataSet, Any, int, Path], None],
    load: Callable[[Path], Retriever] = SequenceRetriever.load,
    reindex: Callable[[Fitted, DataSet, Path], Searcher] | None = None,
) -> System:
    """Register a system of sequences under its name."""
    tables = settings_of(name, config)
    return SYSTEMS.register(
        System(name, config, fit, load, True, from_tables=tables, own_table=True, reindex=reindex)
    )


def with_ids(fitted: Fitted, ids: SequenceIds) -> SequenceRetriever:
    """The model of a fitted system, with other identifiers to generate."""
    generator = SequenceGenerator.load(fitted.folder / MODEL, ids, fitted.config.model)
    return SequenceRetriever(generator, fitted.config)


def fitted_ids(fitted: Fitted) -> SequenceIds:
    """The identifiers that a fitted system was trained on."""
    return SequenceIds.load(fitted.folder / IDS)


Scheme = Callable[[Any], SequenceIds]
"""Gives each document its sequence; is called with the backbone's tokenizer."""


@dataclass(frozen=True, slots=True)
class SequenceFit:
    """The steps of fitting one system; an interrupted call goes on from what is in `folder`."""

    data: DataSet
    config: SequenceConfig
    seed: int
    folder: Path

    def run(self, scheme: Scheme) -> SequenceRetriever:
        """Make identifiers, train on them, and save all that a retriever needs."""
        queries = self.synthetic()
        generator = self.generator(self.ids(scheme))  # made before training, and not of its time
        pairs, validation = self.examples(generator.ids, queries)
        self.learn(generator, pairs, validation, self.folder)
        return self.finish(generator)

    def synthetic(self) -> Path | None:
        """The file of synthetic queries, if the settings ask for any; they are written now or taken
        from the cache."""
        if self.config.queries is None:
            given = self.config.train.pairs.queries
            return None if given is None else Path(given)
        return make_queries(self.data, self.config.queries, self.seed, self.folder.parent) / QUERIES

    def ids(self, scheme: Scheme) -> SequenceIds:
        """The documents' identifiers, which are made once."""
        if not (self.folder / IDS).is_dir():
            _save_ids(scheme(tokenizer_of(self.config.model)), self.folder)
        return SequenceIds.load(self.folder / IDS)

    def generator(self, ids: SequenceIds) -> SequenceGenerator:
        """A generator that is not trained yet."""
        symbols = None if ids.symbols is None else len(ids.symbols)
        return SequenceGenerator.of(new_backbone(self.config.model, self.seed, symbols), ids)

    def examples(self, ids: SequenceIds, queries: Path | None) -> tuple[list[Pair], Validation]:
        """The pairs to learn from, and the pairs that validate."""
        pairs = self.pairs(queries=None if queries is None else str(queries))
        limit = self.config.train.validation_queries
        return numbered_examples(self.data, ids.document_numbers(), pairs, limit, self.seed)

    def pairs(self, **changes: Any) -> PairsConfig:
        """The settings of the training pairs, with some changes."""
        return self.config.train.pairs.model_copy(update=changes)

    def learn(
        self,
        generator: SequenceGenerator,
        pairs: Sequence[Pair],
        validation: Validation,
        folder: Path,
        config: SequenceTrainConfig | None = None,
    ) -> float:
        """Train on pairs; returns the best validation M@10."""
        queries = [pair.query for pair in pairs]
        targets = generator.targets([pair.document for pair in pairs])
        parts = config or self.config.train, self.seed, folder, shown("training")
        return train_sequences(generator, queries, targets, validation, *parts)

    def finish(self, generator: SequenceGenerator) -> SequenceRetriever:
        """Save what was learned, and remove the files that only a resumed run needs."""
        retriever = SequenceRetriever(generator, self.config)
        retriever.save(self.folder)
        remove_checkpoint(self.folder)
        return retriever


def text_ids(
    document_ids: Sequence[str], texts: Sequence[str], tokenizer: Any, longest: int
) -> SequenceIds:
    """Identifiers that are texts: the tokenizer's pieces, of which at most `longest` count."""

    def tokenize(texts: Sequence[str]) -> list[list[int]]:
        rows: list[list[int]] = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return rows

    end = end_token(tokenizer)
    return SequenceIds.of_texts(document_ids, texts, tokenize, end, longest)


def _save_ids(ids: SequenceIds, folder: Path) -> None:
    """Save the identifiers completely or not at all; those that are there already stay."""
    if not (folder / IDS).is_dir():
        beside = folder / f"{IDS}.partial"
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        ids.save(beside)
        beside.rename(folder / IDS)
