"""Systems by name. A baseline's file registers itself; nothing else needs to know it.

The files are found by name when asked for, so the registry depends on none of them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError, nearest
from tsgen.records import Run
from tsgen.retrieve.retriever import Retriever
from tsgen.terms.weights import weights_names

STAGES = ("terms", "queries", "model", "train", "decode", "search")
"""Tables of a settings file that belong to no single system, beside those of the term weights."""

Tables = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class System:
    """How to get a retriever of one kind: `fit` writes a folder that `load` reads.

    `fit(data, config, seed, folder)` may find pieces of an interrupted run in `folder` and go on.
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
    aside: bool = False  # a part or a variant of others, which `all` systems leave out

    def settings(self, tables: Tables) -> StageConfig:
        """Its settings from the tables of a settings file: those of its own table, as a rule."""
        if self.from_tables is None:
            return self.config.from_mapping(tables.get(self.name, {}), source=self.name)
        if self.name in tables and not self.own_table:
            raise ConfigError(
                f"[{self.name}]: {self.name!r} has no table of its own; expected its settings in "
                f"those of its stages: {', '.join(STAGES)}"
            )
        return self.from_tables(tables)


PartSearch = Callable[[System, StageConfig, int], Run]

_SYSTEMS: dict[str, System] = {}
_FOLDER = "tsgen.baselines"  # a file `dense_dot.py` in it registers the system `dense-dot`


def register(system: System) -> System:
    """Add a system under its name."""
    _SYSTEMS[system.name] = system
    return system


def system(name: str) -> System:
    """The system of that name, or a `ConfigError` with the nearest known one.

    Its file is imported only now, so that a light system does not pay for a heavy one's libraries.
    """
    if name not in system_names():
        raise ConfigError(f"unknown system {name!r}; {nearest(name, system_names())}")
    if name not in _SYSTEMS:
        import_module(f"{_FOLDER}.{name.replace('-', '_')}")
    return _SYSTEMS[name]


def system_names() -> list[str]:
    """All names: those registered, and those of the files that will register when imported."""
    folder = import_module(_FOLDER).__path__
    files = [m.name.replace("_", "-") for m in iter_modules(folder) if not m.name.startswith("_")]
    return sorted({*_SYSTEMS, *files})


def check_tables(names: Iterable[str], *others: str) -> None:
    """Refuse the settings file's tables that belong to no system, no stage and none of `others`."""
    known = [*system_names(), *STAGES, *weights_names(), *others]
    for name in names:
        if name not in known:
            raise ConfigError(f"settings for an unknown system {name!r}; {nearest(name, known)}")
