"""What mkdocs does beside building pages: the page of settings is made from the settings."""

import json
from itertools import groupby
from typing import Any

from tsgen.config import Option
from tsgen.settings import engine_options, where_presets_differ

SETTINGS, PLACE = "api/settings.md", "<!-- every option -->"
HEADER = ("| option | default | what it does |", "|---|---|---|")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put a table of options for each table of a settings file into the page of settings."""
    return markdown.replace(PLACE, _tables()) if page.file.src_uri == SETTINGS else markdown


def _tables() -> str:
    options = engine_options()
    rows = list(zip(options, where_presets_differ(options), strict=True))
    tables = groupby(rows, lambda row: row[0].table)
    return "\n\n".join(_table(name, [_line(*row) for row in group]) for name, group in tables)


def _table(name: str, lines: list[str]) -> str:
    return "\n".join([f"## [{name}]\n", *HEADER, *lines])


def _line(option: Option, presets: dict[str, Any]) -> str:
    """One option; presets with another value say so after what the option does."""
    description = option.description.replace("\n", " ").replace("|", "\\|")
    others = ", ".join(f"{name} `{_value(value)}`" for name, value in presets.items())
    presets_say = f"<br>Presets: {others}" if others else ""
    return f"| `{option.name}` | `{_value(option.value)}` | {description}{presets_say} |"


def _value(value: Any) -> str:
    return "unset" if value is None else json.dumps(value, ensure_ascii=False)
