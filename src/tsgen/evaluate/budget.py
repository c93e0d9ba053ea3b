"""The same minutes of training for every system that trains."""

from collections.abc import Mapping
from typing import Any

from tsgen.config import StageConfig, merged
from tsgen.retrieve.registry import system, system_names

MINUTES = "minutes"


def with_minutes(
    tables: Mapping[str, Mapping[str, Any]], minutes: float
) -> dict[str, dict[str, Any]]:
    """The tables of a settings file with a budget: in [train], for all that is trained by it, and
    in the table of each system that has such a setting of its own."""
    own = [name for name in system_names() if MINUTES in system(name).config.model_fields]
    return merged(tables, {name: {MINUTES: minutes} for name in ("train", *own)})


def minutes_of(settings: StageConfig) -> float | None:
    """The budget among a system's settings; None if it has none."""
    train = getattr(settings, "train", None)
    found: float | None = getattr(settings, MINUTES, getattr(train, MINUTES, None))
    return found
