"""What an experiment found: shown, and written as JSON and Markdown for the results."""

import shlex
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console

from tsgen.artifact import write_beside
from tsgen.cli.common import write_json
from tsgen.evaluate.tables import Table, to_markdown, to_rich


def made(**more: object) -> dict[str, str]:
    """How the figures came about: the command, the date, and what else is told."""
    told = {"command": shlex.join(["python", *sys.argv]), "date": date.today().isoformat()}
    return told | {name: str(value) for name, value in more.items()}


def publish(path: Path, figures: Mapping[str, Any], *tables: Table) -> None:
    """Print the tables, and write `path`.json and, with the tables, `path`.md."""
    for table in tables:
        Console().print(to_rich(table))
    write_json(f"{path}.json", figures)
    with write_beside(path.with_name(f"{path.name}.md")) as beside:
        beside.write_text("\n\n".join(map(to_markdown, tables)), encoding="utf-8")
