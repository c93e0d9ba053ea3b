"""Opening a saved retriever, whatever system it is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from tsgen.artifact import open_artifact
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.errors import ArtifactError, ConfigError, nearest
from tsgen.records import Hit, Run
from tsgen.registry import Registry
from tsgen.settings import ModelConfig, TermsConfig
from tsgen.terms.weights import TERM_WEIGHTS

# What every system is: something that answers queries, and can be saved and loaded.


class Searcher(Protocol):
    """Anything that answers queries: a retriever, or an engine's snapshot."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """At most `k` hits for each query, best first; deterministic."""
        ...


class Retriever(Searcher, Protocol):
    """A saved or fitted system, be it BM25, dense or generative."""

    def save(self, folder: Path) -> None:
        """Write everything `load` needs into an existing, empty folder."""
        ...

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open a folder that `save` wrote."""
        ...


@dataclass(frozen=True, slots=True)
class Fitted:
    """A system that was fitted: its folder, settings, and what it was fitted on."""

    folder: Path
    config: Any
    data: DataSet
    seed: int
    cache: Path


STAGES = ("terms", "queries", "model", "train", "decode", "search")
"""Tables of a settings file that belong to no single system, beside those of the term weights."""

Tables = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class System:
    """How to get a retriever of one kind: `fit` writes a folder that `load` reads.

    `fit(data, config, seed, folder)` may find pieces of an interrupted run in `folder` and go on.
    `reindex(fitted, data, scratch)` is the fitted system over other documents, without training: a
    document that it knows keeps its identifier; `scratch` is an empty folder for what it needs.
    `from_parts(folder, config, k, search)` has the hits of a system that fuses others, which
    `search(part, its settings, depth)` searches once for all.
    """

    name: str
    config: type[StageConfig]
    fit: Callable[[DataSet, Any, int, Path], None]
    load: Callable[[Path], Retriever]
    trains: bool = False  # uses the training judgments, so its cache key contains them
    from_tables: Callable[[Tables], StageConfig] | None = None  # for settings in several tables
    own_table: bool = False  # whether one of these has the system's name
    from_parts: Callable[[Path, Any, int, "PartSearch"], Run] | None = None
    reindex: Callable[[Fitted, DataSet, Path], Searcher] | None = None
    aside: bool = False  # a part or a variant of others, which `all` systems leave out

    def settings(self, tables: Tables) -> StageConfig:
        """The system's settings from the tables of a settings file: as a rule those of its own
        table."""
        if self.from_tables is None:
            return self.config.from_mapping(tables.get(self.name, {}), source=self.name)
        if self.name in tables and not self.own_table:
            raise ConfigError(
                f"[{self.name}]: {self.name!r} has no table of its own; expected its settings in "
                f"those of its stages: {', '.join(STAGES)}"
            )
        return self.from_tables(tables)


PartSearch = Callable[[System, StageConfig, int], Run]

SYSTEMS: Registry[System] = Registry(
    "system",
    "tsgen.systems",
    {
        "bm25-terms": "tsgen.baselines.bm25",
        "bm25": "tsgen.baselines.bm25",
        "tsgen-mini": "tsgen.baselines.tsgen",
        "tsgen-index": "tsgen.baselines.tsgen",
        "tsgen-fit": "tsgen.baselines.tsgen",
        "tsgen-generator": "tsgen.baselines.tsgen",
        "tsgen-words": "tsgen.baselines.tsgen",
        "bm25-dense": "tsgen.baselines.hybrid",
        "hybrid": "tsgen.baselines.hybrid",
        "tsgen": "tsgen.baselines.tsgen",
        "weigher": "tsgen.baselines.weigher_search",
    },
    folder="tsgen.baselines",
)


def check_tables(names: Iterable[str], *others: str) -> None:
    """Refuse the settings file's tables that belong to no system, no stage and none of `others`."""
    known = [*SYSTEMS.names(), *STAGES, *TERM_WEIGHTS.names(), *others]
    for name in names:
        if name not in known:
            raise ConfigError(f"settings for an unknown system {name!r}; {nearest(name, known)}")


def open_retriever(folder: Path) -> Retriever:
    """Load a folder that a fit wrote; its manifest's `kind` is the name of the system."""
    kind = open_artifact(folder).kind
    if kind not in SYSTEMS.names():
        raise ArtifactError(
            f"{folder}: holds {kind!r}, not a retriever; {nearest(kind, SYSTEMS.names())}"
        )
    return SYSTEMS.get(kind).load(folder)


def code_versions(system: System, settings: StageConfig) -> dict[str, str]:
    """What a cache key must say of code that is not ours: the system's, and that of the term
    weights and the backbones that its settings name. Empty if all is ours."""
    return SYSTEMS.key(system) | versions_in(settings)


def versions_in(settings: StageConfig) -> dict[str, str]:
    """The versions of the term weights and backbones that settings name, for a cache key."""
    found: dict[str, str] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, TermsConfig):
            found |= TERM_WEIGHTS.key(TERM_WEIGHTS.get(value.weights))
        elif isinstance(value, ModelConfig):
            from tsgen.model.backbone import backbone_version  # needs torch

            found |= backbone_version(value)
        elif isinstance(value, StageConfig):
            found |= versions_in(value)
    return found
