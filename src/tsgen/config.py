"""Settings: one frozen, typed object per stage, loaded from TOML; unknown keys are refused."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from tsgen.errors import ConfigError, nearest


class StageConfig(BaseModel):
    """Base of every stage's settings. Subclasses are plain typed fields with defaults, each with a
    docstring of its own, which `tsgen settings` prints."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], source: str = "settings") -> Self:
        """Build from plain values; a wrong key or value raises `ConfigError` naming it."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            problems = "; ".join(cls._explain(detail) for detail in error.errors())
            raise ConfigError(f"{source}: {problems}") from None

    @classmethod
    def from_toml(cls, path: Path, section: str | None = None) -> Self:
        """Build from a TOML file, or from one of its tables."""
        values: Any = read_toml(path)
        if section is None:
            return cls.from_mapping(values, source=f"{path}")
        values = values.get(section, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: {section} = {values!r}; expected a table [{section}]")
        return cls.from_mapping(values, source=f"{path} [{section}]")

    @classmethod
    def _explain(cls, detail: ErrorDetails) -> str:
        key = ".".join(str(part) for part in detail["loc"])
        if detail["type"] == "extra_forbidden":
            known = _fields_at(cls, detail["loc"][:-1])
            return f"unknown setting {key!r}; {nearest(str(detail['loc'][-1]), known)}"
        found = f"{key} = {detail['input']!r}: " if key else ""  # no key: a rule over several
        return found + detail["msg"].removeprefix("Value error, ")


def _fields_at(model: type[BaseModel], path: Iterable[int | str]) -> Iterable[str]:
    """The names of the settings of the model inside a model."""
    for part in path:
        annotation = model.model_fields[str(part)].annotation
        kinds = (annotation, *get_args(annotation))  # a model, or a model or None
        model = next(k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel))
    return model.model_fields


LARGEST = 2**20
"""Bytes of a settings file."""


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file, or a `ConfigError` with the line that does not parse."""
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigError(f"{path}: over {LARGEST:,} bytes; expected a TOML file with settings")
        return _parsed(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; expected a TOML file with settings") from None
    except (ValueError, RecursionError) as error:  # of syntax, of UTF-8, of huge numbers, of depth
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


UNSET = "unset"
"""What a file or `--set` writes for None, which TOML has no word for."""


def _parsed(text: str) -> dict[str, Any]:
    return {name: _without_unset(value) for name, value in tomllib.loads(text).items()}


def _without_unset(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_unset(inner) for name, inner in value.items()}
    return None if value == UNSET else value


def presets() -> list[str]:
    """The names of the presets that come with the package."""
    names = (file.name for file in files("tsgen.presets").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def preset(name: str) -> dict[str, Any]:
    """The tables of a preset that comes with the package."""
    if name not in presets():
        raise ConfigError(f"unknown preset {name!r}; {nearest(name, presets())}")
    return _parsed((files("tsgen.presets") / f"{name}.toml").read_text(encoding="utf-8"))


def _merge(into: dict[str, Any], table: Mapping[str, Any]) -> None:
    """Put a table's values over another's, tables inside them alike."""
    for key, value in table.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def merged(table: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A table with another's values over its own, tables inside them alike."""
    result = deepcopy(dict(table))
    _merge(result, over)
    return result


def read_settings(
    path: Path | None, assignments: Iterable[str], base: str | None = None
) -> dict[str, dict[str, Any]]:
    """Settings by section: those of the preset `base`, over them the tables of a TOML file, over
    them `section.key=value`; a longer path, `section.table.key=value`, reaches into tables.
    """
    settings = preset(base) if base else {}
    for section, table in (read_toml(path) if path else {}).items():
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: {section} = {table!r}; expected tables like [{section}]")
        _merge(settings.setdefault(section, {}), table)
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        *tables, key = name.strip().split(".")
        if not (equals and tables and key and all(tables)):
            raise ConfigError(f"{assignment!r}: expected section.key=value, e.g. bm25.k1=1.2")
        table = settings
        for part in tables:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{assignment!r}: {part} = {table!r} is a value, not a table")
        table[key] = _value(value.strip())
    return settings


def _value(text: str) -> Any:
    """A value as TOML writes it, or the text itself, so that a word needs no quotes."""
    try:
        return _parsed(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return _without_unset(text)


@dataclass(frozen=True, slots=True)
class Option:
    """One setting: its table in a settings file, its name, its value, and what it does."""

    table: str
    name: str
    value: Any
    description: str


def options(settings: StageConfig, table: str) -> list[Option]:
    """Every setting of a table and of the tables inside it, with the values that it has here.

    Settings whose default is computed are left out: they are made from others.
    """
    found, inner = [], []
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, StageConfig):
            inner += options(value, f"{table}.{name}")
        elif field.default_factory is None:
            description = " ".join((field.description or "").split())
            found.append(Option(table, name, value, description))
    return found + inner


def to_toml(settings: Iterable[Option]) -> str:
    """A settings file with these options in tables, each below what it does."""
    lines: list[str] = []
    for table, rows in groupby(settings, key=lambda option: option.table):
        lines += [f"[{table}]", *(line for row in rows for line in _toml_lines(row)), ""]
    return "\n".join(lines)


def _toml_lines(option: Option) -> Iterator[str]:
    yield from wrap(option.description, 98, initial_indent="# ", subsequent_indent="# ")
    yield f"{option.name} = {toml_value(option.value)}"


def toml_value(value: Any) -> str:
    """A value as TOML writes it; None as the string that stands for it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(UNSET if value is None else value, ensure_ascii=False)
