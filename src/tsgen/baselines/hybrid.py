"""Hybrid: a generative system and others (BM25; dense ones, too), fused into one ranking.

    s(Q, D) = Σ_parts w_part · v_part(D)

The values v are made of each part's ranks or scores, and the weights w are 1 or tuned by M@10 on
the dev queries; the formulas are in `tsgen.retrieve.fusion`. Each part is fitted with the settings
that it has by itself, so that the cache serves the part and the system alike.
"""

import shutil
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import orjson
from pydantic import Field

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError, DataError
from tsgen.records import Hit, Judgments, Run
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.fusion import ScoreTable, Tuned, Values, fuse, tune
from tsgen.retrieve.systems import SYSTEMS, PartSearch, Retriever, System, Tables

NAME, FUSION = "hybrid", "fusion.json"
DEV = "dev"
DEPTH = 100  # hits of each part that are fused, or more if more are wanted


class HybridSettings(StageConfig):
    """The settings of the table [hybrid]: which systems are fused, and how."""

    generative: str = "tsgen"
    """The system that generates; `tsgen-mini` needs no training."""

    beside: tuple[str, ...] = Field(("bm25",), min_length=1)
    """The other systems, such as ["bm25", "dpr"]."""

    fusion: Literal["tuned", "ranks", "scores"] = "tuned"
    """`ranks`: reciprocal rank fusion. `scores`: the sum of each list's standardised scores. Both
    need no tuning. `tuned`: how far a document is behind the first, with the weights that are best
    on the dev queries."""

    @property
    def parts(self) -> list[str]:
        """The names of all systems, the generative one first."""
        return [self.generative, *self.beside]

    @property
    def values(self) -> Values:
        """The values of hits that are added up: gaps, ranks or scores."""
        return "gaps" if self.fusion == "tuned" else self.fusion


class HybridConfig(HybridSettings):
    """The settings of the fusion, and those of every part from the part's own tables."""

    settings: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """The settings of each part by its name."""


def hybrid_config(tables: Tables) -> HybridConfig:
    """Read the settings from the table [hybrid] and those of the parts."""
    own = HybridSettings.from_mapping(tables.get(NAME, {}), source=f"[{NAME}]")
    if len({*own.parts, NAME}) <= len(own.parts):
        raise ConfigError(
            f"[{NAME}]: parts {', '.join(own.parts)}; expected different systems, none of them "
            f"{NAME!r}. Check {NAME}.generative and {NAME}.beside."
        )
    parts = {name: SYSTEMS.get(name).settings(tables).model_dump(mode="json") for name in own.parts}
    return HybridConfig(**own.model_dump(), settings=parts)


def bm25_dense_config(tables: Tables) -> HybridConfig:
    """BM25 and MiniLM's cosine by reciprocal ranks: the fusion that needs no training."""
    own = HybridSettings(generative="dense", beside=("bm25",), fusion="ranks")
    parts = {name: SYSTEMS.get(name).settings(tables).model_dump(mode="json") for name in own.parts}
    return HybridConfig(**own.model_dump(), settings=parts)


class Hybrid:
    """A fusion of systems, in a folder that has a folder for each of them and their weights."""

    def __init__(self, folder: Path) -> None:
        facts = orjson.loads((folder / FUSION).read_bytes())
        self.weights: dict[str, float] = facts["weights"]
        self._values: Values = facts["values"]
        self._folder = folder

    @cached_property
    def _parts(self) -> list[Retriever]:
        return [SYSTEMS.get(name).load(self._folder / name) for name in self.weights]

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """At most `k` of the documents that the parts found, best first."""
        hits = [part.search(queries, max(k, DEPTH)) for part in self._parts]
        return [self.fuse(lists, k) for lists in zip(*hits, strict=True)]

    def fuse(self, lists: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
        """Fuse the hits of all parts for one query; the best `k`."""
        return fuse(lists, list(self.weights.values()), self._values, k)

    def save(self, folder: Path) -> None:
        """Copy the parts and their weights."""
        for name in self.weights:
            shutil.copytree(self._folder / name, folder / name)
        shutil.copyfile(self._folder / FUSION, folder / FUSION)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open what `save` or a fit wrote."""
        return cls(folder)


def _fit(data: DataSet, config: HybridConfig, seed: int, folder: Path) -> None:
    judged = _judged(data) if config.fusion == "tuned" else {}
    bench = Bench(data, [data.queries()[id] for id in judged], DEPTH, seed, folder.parent)
    parts = _parts(config)
    facts: dict[str, Any] = {"values": config.values}
    if judged:
        tuned = _tuned([bench.run(*part) for part in parts], judged)
        weights, facts["shares"] = tuned.weights, tuned.shares
        facts["M@10"] = [[*row] for row in tuned.figures.items()]
    else:
        weights = (1.0,) * len(parts)
    facts["weights"] = dict(zip(config.parts, weights, strict=True))
    for part, settings in parts:
        fitted, _ = bench.fit(part, settings)
        shutil.copytree(fitted, folder / part.name, dirs_exist_ok=True)
    (folder / FUSION).write_bytes(orjson.dumps(facts, option=orjson.OPT_INDENT_2))


def _parts(config: HybridConfig) -> list[tuple[System, StageConfig]]:
    """The parts as systems with their settings."""
    parts = [SYSTEMS.get(name) for name in config.parts]
    return [(part, part.config.from_mapping(config.settings[part.name])) for part in parts]


def _from_parts(folder: Path, config: HybridConfig, k: int, search: PartSearch) -> Run:
    """Fuse runs of the parts into the run that `Hybrid.search` would make."""
    hybrid = Hybrid.load(folder)
    runs = [search(*part, max(k, DEPTH)) for part in _parts(config)]
    return {id: hybrid.fuse([run[id] for run in runs], k) for id in runs[0]}


def _judged(data: DataSet) -> Judgments:
    """The judgments of the dev queries that have a relevant document."""
    if DEV not in data.splits:
        raise DataError(
            f"{data.name}: no judgments named {DEV} to choose weights by; found "
            f"{', '.join(data.splits) or 'none'}. Fuse without: --set {NAME}.fusion=ranks"
        )
    judged = data.judgments(DEV)
    return {id: grades for id, grades in judged.items() if any(g > 0 for g in grades.values())}


def _tuned(runs: Sequence[Run], judged: Judgments) -> Tuned:
    """Choose the weights with the best M@10 on judged queries."""
    tables = [ScoreTable.of([run.get(id, []) for run in runs], "gaps") for id in judged]
    relevant = [{id for id, grade in grades.items() if grade > 0} for grades in judged.values()]
    return tune(tables, relevant)


SYSTEMS.register(
    System(
        NAME,
        HybridConfig,
        _fit,
        Hybrid.load,
        trains=True,
        from_tables=hybrid_config,
        own_table=True,
        from_parts=_from_parts,
        aside=True,
    )
)
SYSTEMS.register(
    System(
        "bm25-dense",
        HybridConfig,
        _fit,
        Hybrid.load,
        from_tables=bm25_dense_config,
        from_parts=_from_parts,
        aside=True,
    )
)
