"""The command `tsgen`: assembles the verbs and turns errors into messages.

Verbs import what is heavy inside their bodies, so that `tsgen --help` answers at once.
"""

import sys
from importlib import import_module
from typing import Annotated

import typer
from rich.markup import escape

from tsgen.cli.common import console, output, speak_safely
from tsgen.errors import TsgenError
from tsgen.version import __version__

app = typer.Typer(
    name="tsgen",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
TOPICS = (
    "building",
    "asking",
    "changing",
    "keeping",
    "measuring",
    "inspecting",
    "settings_command",
    "services",
)
"""The files of this folder whose `VERBS` are the commands, in the order that help lists them."""

for topic in TOPICS:
    for verb in import_module(f"tsgen.cli.{topic}").VERBS:
        app.command()(verb)


def _print_version(wanted: bool) -> None:
    if wanted:
        output.print(f"tsgen {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def tsgen(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Generative retrieval by term sets, and the systems to compare it with."""


def run() -> None:
    """The entry point: bad input prints one message and exits 1, Ctrl-C exits 130."""
    speak_safely()
    try:
        app()
    except TsgenError as error:
        _fail(str(error))
    except OSError as error:  # a full disk, a missing permission: the user's to mend, not a bug
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _fail(message: str) -> None:
    console.print(f"[bold red]error:[/] {escape(message)}", highlight=False, soft_wrap=True)
    sys.exit(1)
