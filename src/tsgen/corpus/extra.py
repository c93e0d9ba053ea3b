"""Libraries that only some users install."""

from importlib import import_module
from typing import Any

from tsgen.errors import MissingExtraError


def library(module: str, what: str) -> Any:
    """An optional library, or the command that installs it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(what, "datasets") from None
