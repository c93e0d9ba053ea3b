"""What false pruning is counted for: DocIDs of some kind and the model that writes them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsgen.constrain.constraint import Constraint
from tsgen.constrain.postings import PostingsConstraint
from tsgen.corpus.dataset import DataSet, cache_folder_of
from tsgen.decode.config import DecodeConfig
from tsgen.decode.found import Texts
from tsgen.decode.watch_sequence import END
from tsgen.errors import ConfigError, DataError
from tsgen.model.backbone import Backbone
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.engine import KIND, Engine
from tsgen.retrieve.registry import check_tables, system
from tsgen.retrieve.retriever import Retriever
from tsgen.retrieve.sequences import SequenceRetriever

SETS, SEQUENCE = "term set", "the same terms by weight"


@dataclass(frozen=True, slots=True)
class Scheme:
    """Identifiers, the model that writes them, and how it is searched."""

    name: str
    backbone: Backbone
    constraint: Constraint
    config: DecodeConfig
    ids: Texts
    number: Callable[[str], int]  # of a document by its id
    unit: Callable[[int], str]  # the text of a unit by its number
    read: Callable[[str], str] = str  # a query as the model is given it

    @property
    def ordered(self) -> bool:
        """Whether only one order of a document's units is valid."""
        return not isinstance(self.constraint, PostingsConstraint)


def engine_schemes(engine: Engine, beam: int | None = None) -> list[Scheme]:
    """The engine's term sets, and the same terms as a sequence, written by the same model."""
    generator, sets = engine.generator, engine.generator.sets
    constraint = generator.constraint
    both: dict[str, Constraint] = {SETS: constraint, SEQUENCE: constraint.in_order}
    shared = (_plain(engine.config.decode, beam), sets.documents, engine.number, sets.term,
              engine.read)  # fmt: skip
    return [Scheme(name, generator.backbone, each, *shared) for name, each in both.items()]


def _plain(config: DecodeConfig, beam: int | None) -> DecodeConfig:
    """The search without what only sets have (prior, rescoring) and without the early stop: what
    is lost is lost to better hypotheses in the beam."""
    off = {"pool": 0, "fill": 0, "look_ahead": 0.0, "rescore": 0.0, "overlap": 0.0}
    return config.with_beam(beam).model_copy(update=off | {"in_order": False, "early_stop": False})


def schemes_of(name: str, retriever: Retriever, beam: int | None = None) -> list[Scheme]:
    """Those of a fitted system."""
    if isinstance(retriever, Engine):
        return engine_schemes(retriever, beam)
    # What is more than a trie of sequences, such as titles that documents share, has one inside.
    sequences = getattr(retriever, "sequences", retriever)
    if isinstance(sequences, SequenceRetriever):
        return [_sequence_scheme(name, sequences, beam)]
    raise ConfigError(
        f"{name!r} generates no identifiers, so nothing is pruned; expected tsgen or a system with "
        "sequence DocIDs, such as dsi or genre."
    )


def _sequence_scheme(name: str, retriever: SequenceRetriever, beam: int | None) -> Scheme:
    generator, names = retriever.generator, retriever.names()
    numbers = generator.ids.document_numbers()

    def number(document_id: str) -> int:
        if document_id not in numbers:
            raise DataError(f"{document_id!r}: no such document; expected an id of the data set")
        return numbers[document_id]

    def unit(token: int) -> str:
        return "end" if token == END else names[token]

    parts = generator.backbone, generator.constraint, _plain(retriever.config.decode, beam)
    return Scheme(name, *parts, generator.ids.documents, number, unit)


def wanted_schemes(
    data: DataSet,
    engine: Path | None,
    systems: Sequence[str],
    tables: Mapping[str, Mapping[str, Any]],
    beam: int | None = None,
    seed: int = 0,
    cache: Path | None = None,
) -> list[Scheme]:
    """Those of several systems, fitted on the data set unless the cache has them; `engine` is the
    folder of one that takes the place of the system tsgen."""
    check_tables(tables)
    bench = Bench(data, (), 0, seed, cache_folder_of(data, cache))
    found = [] if engine is None else engine_schemes(Engine.load(engine), beam)
    for name in dict.fromkeys(systems):
        if engine is not None and name == KIND:
            continue
        each = system(name)
        folder, _ = bench.fit(each, each.settings(tables))
        found += schemes_of(name, each.load(folder), beam)
    return found
