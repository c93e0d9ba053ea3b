"""Commands that change an engine's documents: `add`, `update`, `remove`, `compact`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tsgen.cli.common import (
    DataArgument,
    EngineArgument,
    JsonOption,
    SkipBadOption,
    console,
    progress,
    results_console,
    stdin_lines,
    typed_text,
    write_json,
)

if TYPE_CHECKING:
    from tsgen.retrieve.engine import Engine


def add(
    engine: EngineArgument,
    data: DataArgument,
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Add documents to an engine, or replace those with the same id, without training.

    Their terms come from the weights the engine was made with. The next search finds them. Every
    thousand documents are one change, which is on disk when the next thousand are begun.

    Example: `tsgen add runs/engine new.jsonl`
    """
    _change(engine, data, skip_bad, json)


def update(
    engine: EngineArgument,
    data: DataArgument,
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Replace documents of an engine by new versions with the same ids, without training.

    If the engine does not have one of the ids, nothing is changed. `tsgen add` takes new ones, too.

    Example: `tsgen update runs/engine corrected.jsonl`
    """
    _change(engine, data, skip_bad, json, known_only=True)


def remove(
    engine: EngineArgument,
    ids: Annotated[
        list[str], typer.Argument(metavar="ID…", help="As tsgen search prints them; - reads stdin.")
    ],
    json: JsonOption = None,
) -> None:
    """Remove documents from an engine; the next search no longer finds them.

    All of them go at once; if the engine does not have one of the ids, none does. Their texts are
    on disk until `tsgen compact`.

    Example: `tsgen remove runs/engine doc42 doc43`
    """
    from tsgen.retrieve.engine import Engine

    wanted = stdin_lines("id") if ids == ["-"] else [typed_text(one, "id") for one in ids]
    with Engine.load(engine) as opened:
        _report(json, opened, removed=opened.remove(wanted))


def compact(engine: EngineArgument, json: JsonOption = None) -> None:
    """Write what was added and removed into the engine's own arrays, and erase what was removed.

    Searches and changes may go on meanwhile. Worth it when a tenth of the documents has changed.

    Example: `tsgen compact runs/engine`
    """
    from tsgen.retrieve.engine import Engine

    with Engine.load(engine) as opened, progress():
        opened.compact()
        _report(json, opened)


def _change(
    engine: Path, data: str, skip_bad: bool, json: str | None, known_only: bool = False
) -> None:
    """Add or update the documents of a data set, and say what changed."""
    from tsgen.corpus.load import load
    from tsgen.retrieve.engine import Engine

    source = load(data, skip_bad=skip_bad)
    with Engine.load(engine) as opened, progress():
        changed = opened.update(source) if known_only else opened.add(source)
        _report(json, opened, added=changed.added, updated=changed.updated)
    if skip_bad:
        console.print(source.problems.summary())


def _report(json: str | None, engine: "Engine", **counts: int) -> None:
    """Print how many documents were added, updated or removed, and how many there are."""
    size, terms = len(engine), len(engine.sets.vocabulary)
    done = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    results_console(json).print(
        f"{done or 'nothing changed'}: {size:,} documents, {terms:,} terms in {engine.folder}"
    )
    figures = {"engine": str(engine.folder), **counts, "documents": size, "vocabulary": terms}
    write_json(json, figures)


VERBS = (add, update, remove, compact)
