"""`tsgen pretrain`: from raw texts to a generator for any collection."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import (
    CacheOption,
    DataArgument,
    JsonOption,
    PresetOption,
    QrelsOption,
    SetOption,
    SkipBadOption,
    console,
    progress,
    write_json,
)


def pretrain(
    data: DataArgument,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the model.")],
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="DATA", help="Leave out documents that this data set has, too."),
    ] = None,
    settings: SetOption = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML: [terms], [pseudo], [model], [train]."),
    ] = None,
    preset: PresetOption = "pretrain",
    seed: Annotated[int, typer.Option(help="Equal seeds give equal models.")] = 0,
    cache: CacheOption = None,
    qrels: QrelsOption = "qrels",
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Learn from texts alone to write the terms of documents.

    Queries are made from the texts; judgments of a split named dev, if there are any, choose the
    best weights. Interrupted, it goes on.

    Example: `tsgen pretrain data/pages --out runs/mini --without data/my-test-set`, then
    `tsgen index docs --out runs/engine --model runs/mini/model`
    """
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.corpus.without import Without
    from tsgen.retrieve.registry import check_tables
    from tsgen.train.iterate import MODEL
    from tsgen.train.pretraining import pretrain, pretrain_config

    tables = read_settings(config, settings or [], preset)
    check_tables(tables, "pseudo")
    source = load(data, qrels=qrels, skip_bad=skip_bad)
    others = [load(name) for name in without or []]
    texts = Without(source, others) if others else source
    with progress():
        best = pretrain(texts, pretrain_config(tables), out, seed, cache)
    if skip_bad:
        console.print(source.problems.summary())
    write_json(json, {"model": str(out / MODEL), "M@10": best})
    console.print(f"The model is in {out / MODEL}; its best validation M@10 was {best:.3f}.")
