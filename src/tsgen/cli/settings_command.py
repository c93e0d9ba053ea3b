"""The command `tsgen settings`: every option of an engine, its default, and what presets change."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tsgen.cli.common import JsonOption, results_console, write_json

if TYPE_CHECKING:
    from tsgen.config import Option

TablesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TABLE]...",
        help="Only these tables, e.g. decode or train; also systems, e.g. bm25.",
        show_default=False,
    ),
]


def settings(
    tables: TablesArgument = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Print this preset complete, as a TOML file."),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Print every option by table: its default, what it does, and which presets change it.

    With `--preset` a settings file, to be changed and given to `tsgen fit --config`.

    Example: `tsgen settings --preset paper > my.toml`
    """
    from tsgen.config import to_toml
    from tsgen.settings import engine_options, preset_options, where_presets_differ

    found = engine_options() if preset is None else preset_options(preset)
    if tables:
        found = _chosen(found, tables)
    changes = where_presets_differ(found) if preset is None else [{} for _ in found]
    rows = list(zip(found, changes, strict=True))
    if json is not None:
        write_json(json, [_as_json(*row) for row in rows])
    elif preset is not None:
        typer.echo(to_toml(found), nl=False)
    else:
        _print_tables(rows, json)


def _chosen(found: "list[Option]", tables: list[str]) -> "list[Option]":
    """The options of some tables and those inside them; of a system those of its own table."""
    from tsgen.config import options
    from tsgen.errors import ConfigError, nearest
    from tsgen.retrieve.systems import SYSTEMS

    known = {option.table for option in found}
    known |= {table.partition(".")[0] for table in known}
    chosen: list[Option] = []
    for name in tables:
        inside = [option for option in found if f"{option.table}.".startswith(f"{name}.")]
        if not inside and name in SYSTEMS.names():
            inside = options(SYSTEMS.get(name).config(), name)
        if not inside:
            names = {*known, *SYSTEMS.names()}
            raise ConfigError(f"no table [{name}] of settings; {nearest(name, sorted(names))}")
        chosen += inside
    return chosen


def _as_json(option: "Option", presets: dict[str, object]) -> dict[str, object]:
    return {
        "table": option.table,
        "name": option.name,
        "value": option.value,
        "description": option.description,
        "presets": presets,
    }


def _print_tables(rows: "list[tuple[Option, dict[str, object]]]", json: str | None) -> None:
    """One line for each option, under the name of its table."""
    from itertools import groupby

    from rich.table import Table

    from tsgen.config import toml_value

    for name, of_table in groupby(rows, key=lambda row: row[0].table):
        shown = Table(title=escape(f"[{name}]"), title_justify="left", title_style="bold")
        for column in ("option", "default", "presets", "what it does"):
            shown.add_column(column)
        for option, presets in of_table:
            told = (f"{preset} {toml_value(value)}" for preset, value in presets.items())
            cells = option.name, toml_value(option.value), "\n".join(told), option.description
            shown.add_row(*map(escape, cells))
        results_console(json).print(shown)


VERBS = (settings,)
