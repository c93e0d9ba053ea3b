"""`tsgen fit`: from a data set to an engine that can be searched."""

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
    report,
)


def fit(
    data: DataArgument,
    out: Annotated[Path, typer.Option(metavar="ENGINE", help="The folder of the engine.")],
    queries: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='More training queries: {"query": …, "document": id}.'),
    ] = None,
    split: Annotated[str, typer.Option(help="The judgments to evaluate on, if there.")] = "dev",
    settings: SetOption = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML: [terms], [queries], [model], [train], [decode]."),
    ] = None,
    preset: PresetOption = "cpu",
    seed: Annotated[int, typer.Option(help="Equal seeds give equal engines.")] = 0,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Fail if TensorBoard's package is not there.")
    ] = False,
    cache: CacheOption = None,
    qrels: QrelsOption = "qrels",
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Choose terms, train the generator iteration by iteration, and evaluate the engine.

    What was done before is not done again, and an interrupted command goes on from there.

    Several GPUs: `torchrun --nproc-per-node 4 -m tsgen fit …`

    Example: `tsgen fit data/wiki-10k --out runs/engine --preset cpu --set train.epochs=3`
    """
    from tsgen import processes
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.evaluate.source import evaluate_source
    from tsgen.evaluate.tables import to_json
    from tsgen.events import require_tensorboard
    from tsgen.retrieve.engine import engine_config
    from tsgen.retrieve.fitting import fit_engine
    from tsgen.retrieve.registry import check_tables

    flags = [] if queries is None else [f"train.pairs.queries={str(queries)!r}"]
    tables = read_settings(config, [*(settings or []), *flags], preset)
    check_tables(tables)
    if tensorboard:
        require_tensorboard()
    source = load(data, qrels=qrels, skip_bad=skip_bad)
    with progress():
        fit_engine(source, engine_config(tables), out, seed, cache)
        if processes.rank():
            return
        judged = split in source.splits
        result = evaluate_source(out, source, split=split) if judged else None
    if skip_bad:
        console.print(source.problems.summary())
    if result is not None:
        report(result, to_json(result), json, None)
    console.print(f'The engine is in {out}: tsgen search {out} "…"')
