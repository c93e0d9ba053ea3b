"""Write the tables of a measurement as JSON, Markdown and a plot, with how they were made."""

import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from tsgen.artifact import write_beside
from tsgen.cli.common import (
    output,
    write_json,
)
from tsgen.evaluate.reproduce import Reproduction
from tsgen.evaluate.tables import Table, to_markdown, to_rich


def revision() -> str:
    """The commit that the running script is of, marked if files have changed since."""
    command = [
        "git",
        "-C",
        str(Path(sys.argv[0]).resolve().parent),
        "describe",
        "--always",
        "--dirty",
    ]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"


def made(**more: object) -> dict[str, str]:
    """How figures came about: the command, the date, the revision, and other facts."""
    told = {"command": shlex.join(["python", *sys.argv]), "date": date.today().isoformat()}
    told |= {"revision": revision()}
    return told | {name: str(value) for name, value in more.items()}


def publish(
    path: Path, figures: Mapping[str, Any], *tables: Table, picture: str | None = None
) -> None:
    """Print the tables, and write `path`.json and, with the tables and the picture of that name,
    `path`.md."""
    for table in tables:
        output.print(to_rich(table))
    write_json(f"{path}.json", figures)
    parts = [*map(to_markdown, tables), *([f"![{path.name}]({picture})\n"] if picture else [])]
    with write_beside(path.with_name(f"{path.name}.md")) as beside:
        beside.write_text("\n\n".join(parts), encoding="utf-8")


def publish_experiment(
    out: Path, name: str, data: str, found: Reproduction, options: Mapping[str, Any]
) -> Path:
    """Print what an experiment found, and write it to `out` as NAME-FORM-DATA.json, .md and, if
    there is anything to draw, .png. The command is printed as it would be given anywhere: with the
    data set's name in place of its folder. Returns the path without a suffix."""
    path = out / f"{Path(name).stem}-{options['form']}-{data}"
    words = ["tsgen", "reproduce", Path(name).stem, "--data", data]
    listed = {k: v if isinstance(v, list) else [v] for k, v in options.items() if v}
    words += [w for key, values in listed.items() for v in values for w in (f"--{key}", str(v))]
    notes = {"command": shlex.join(words), "date": date.today().isoformat()}
    notes |= {"seeds": str(options["seeds"])}
    tables = [replace(table, notes={**table.notes, **notes}) for table in found.tables]
    picture = f"{path.name}.png" if found.series else None
    if picture is not None:
        found.plot(out / picture, found.tables[0].caption)
    publish(path, dict(found.figures) | notes, *tables, picture=picture)
    return path
