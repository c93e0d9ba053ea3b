"""Systems by name. A baseline's file registers itself; nothing else needs to know it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError, nearest
from tsgen.retrieve.retriever import Retriever


@dataclass(frozen=True, slots=True)
class System:
    """How to get a retriever of one kind: `fit` writes a folder that `load` reads.

    `fit(data, config, seed, folder)` may find pieces of an interrupted run in `folder` and go on.
    """

    name: str
    config: type[StageConfig]
    fit: Callable[[DataSet, Any, int, Path], None]
    load: Callable[[Path], Retriever]
    trains: bool = False  # uses the training judgments, so its cache key contains them


_SYSTEMS: dict[str, System] = {}


def register(system: System) -> System:
    """Add a system under its name."""
    _SYSTEMS[system.name] = system
    return system


def system(name: str) -> System:
    """The system of that name, or a `ConfigError` with the nearest known one."""
    if name not in _SYSTEMS:
        raise ConfigError(f"unknown system {name!r}; {nearest(name, _SYSTEMS)}")
    return _SYSTEMS[name]


def system_names() -> list[str]:
    """All registered names, in order of registration."""
    return list(_SYSTEMS)
