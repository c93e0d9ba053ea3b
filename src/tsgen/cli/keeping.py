"""Commands that keep an engine safe: `check`, `repair`, `backup`, `restore`, `erase`."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import (
    EngineArgument,
    JsonOption,
    console,
    progress,
    results_console,
    stdin_lines,
    write_json,
)


def check(engine: EngineArgument, json: JsonOption = None) -> None:
    """Read every file of an engine and say what is damaged.

    An engine is checked when it is opened, too, but for the texts, each of which is checked when it
    is read. Exits with 1 if anything is not what was written.

    Example: `tsgen check runs/engine`
    """
    from tsgen.retrieve.repair import check as check_files

    with progress():
        found = check_files(engine)
    if found.problems:
        for problem in found.problems:
            _say(problem, json)
    else:
        whole = f"{engine}: {found.files:,} files of {found.size:,} bytes are whole: "
        _say(f"{whole}{found.documents:,} documents, {found.changes:,} changes", json)
    write_json(json, {"engine": str(engine), **_plain(found)})
    if found.problems:
        raise typer.Exit(1)


def repair(engine: EngineArgument, json: JsonOption = None) -> None:
    """Put a whole engine of what is left of a damaged one in its place, and say what is lost.

    The damaged one stays beside it, as ENGINE.damaged-1. An engine that is whole is not touched.

    Example: `tsgen repair runs/engine`
    """
    from tsgen.retrieve.repair import repair as repair_engine

    with progress():
        found = repair_engine(engine)
    lines = [f"done: {one}" for one in found.done] + [f"lost: {one}" for one in found.lost]
    if found.damaged is None:
        lines = ["nothing is damaged"]
    else:
        lines.append(f"the damaged engine is now {found.damaged}")
    lines.append(f"{engine}: {found.documents:,} documents")
    for line in lines:
        _say(line, json)
    write_json(json, {"engine": str(engine), **_plain(found)})


def backup(
    engine: EngineArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes, a tar file.")],
    json: JsonOption = None,
) -> None:
    """Copy all of an engine, as it is at one moment, into one file.

    Others may search and change the engine meanwhile. Copying its folder with other tools is safe
    only while nobody changes it.

    Example: `tsgen backup runs/engine notes-2026-11-19.tar`
    """
    from tsgen.retrieve.backup import backup as write_backup

    with progress():
        found = write_backup(engine, file)
    _say(f"{file}: {found.files:,} files, {found.size:,} bytes, {found.changes:,} changes", json)
    write_json(json, {"engine": str(engine), "backup": str(file), **_plain(found)})


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What tsgen backup wrote.")],
    engine: Annotated[Path, typer.Argument(metavar="ENGINE", help="A folder that is not there.")],
    json: JsonOption = None,
) -> None:
    """Make an engine of a copy, after a check of all of it.

    What is there already is never replaced: move a damaged engine away first.

    Example: `tsgen restore notes-2026-11-19.tar runs/restored`
    """
    from tsgen.retrieve.backup import restore as read_backup

    with progress():
        found = read_backup(file, engine)
    changes = f"{found.files:,} files, {found.changes:,} changes"
    _say(f'{engine}: {changes}. tsgen search {engine} "…"', json)
    write_json(json, {"engine": str(engine), "backup": str(file), **_plain(found)})


def erase(
    engine: EngineArgument,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID…", help="As tsgen search prints them; - reads stdin."),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Remove documents and every trace of them from all files of an engine.

    `tsgen remove` and `tsgen compact` leave words in the term weights and in the model's terms that
    only these documents had. Without ids, the traces of all documents that were removed before go.
    Copies made by `tsgen backup` keep what they have.

    Example: `tsgen erase runs/engine doc42`
    """
    from tsgen.retrieve.engine import Engine

    names = ids or []
    wanted = stdin_lines("id") if names == ["-"] else names
    with Engine.load(engine) as opened, progress():
        gone = opened.erase(wanted)
        size = len(opened)
    _say(f"{len(set(wanted)):,} erased: {size:,} documents in {engine}", json)
    write_json(json, {"engine": str(engine), "erased": len(set(wanted)), "complete": gone})
    if not gone:
        console.print(
            "[bold red]error:[/] another process still reads the old texts, so the log of changes "
            f"could not be emptied. When it has ended: tsgen erase {engine}",
            soft_wrap=True,
        )
        raise typer.Exit(1)


def _say(line: str, json: str | None) -> None:
    """Print a line as it is: ids and paths are no markup."""
    results_console(json).print(line, highlight=False, soft_wrap=True, markup=False)


def _plain(found: object) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(found)  # type: ignore[call-overload,no-any-return]


VERBS = (check, repair, backup, restore, erase)
