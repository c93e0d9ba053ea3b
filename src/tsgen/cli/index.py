"""`tsgen index`: from documents to an engine, without training."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import (
    CacheOption,
    DataArgument,
    JsonOption,
    PresetOption,
    SetOption,
    SkipBadOption,
    console,
    progress,
    results_console,
    write_json,
)


def index(
    data: DataArgument,
    out: Annotated[Path, typer.Option(metavar="ENGINE", help="The folder of the engine.")],
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="The generator, if not tsgen-mini: what tsgen pretrain wrote."
        ),
    ] = None,
    settings: SetOption = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML: [terms], [decode].")
    ] = None,
    preset: PresetOption = "mini",
    cache: CacheOption = None,
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Make documents searchable at once: choose their terms and give them to a trained generator.

    DATA may be a folder of text or Markdown files. What was done before is not done again.

    Example: `tsgen index notes --out runs/notes`
    """
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.retrieve.engine import Engine
    from tsgen.retrieve.indexing import index_config, index_documents
    from tsgen.retrieve.registry import check_tables

    tables = read_settings(config, settings or [], preset)
    check_tables(tables)
    source = load(data, skip_bad=skip_bad)
    with progress():
        index_documents(source, index_config(tables), model, out, cache)
    if skip_bad:
        console.print(source.problems.summary())
    sets = Engine.load(out).generator.sets
    figures = {"engine": str(out), "documents": len(sets), "vocabulary": len(sets.vocabulary)}
    results_console(json).print(
        f"{len(sets):,} documents, {len(sets.vocabulary):,} terms. "
        f'The engine is in {out}: tsgen search {out} "…"'
    )
    write_json(json, figures)
