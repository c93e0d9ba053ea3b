"""`tsgen calibrate`: how sure an engine is of its first hit."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import (
    DataArgument,
    EngineArgument,
    JsonOption,
    LimitOption,
    QrelsOption,
    TableOption,
    progress,
    report,
)


def calibrate(
    engine: EngineArgument,
    data: DataArgument,
    split: Annotated[
        str, typer.Option(help="The judgments to fit on; not those of train.")
    ] = "dev",
    check: Annotated[
        str | None, typer.Option(metavar="SPLIT", help="Report on these judgments, too.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Reliability plot, .png or .svg.")
    ] = None,
    qrels: QrelsOption = "qrels",
    limit: LimitOption = None,
    json: JsonOption = None,
    table: TableOption = None,
) -> None:
    """Fit the probability that the first hit is right, and keep it in the engine.

    Hits then carry a confidence, and `tsgen search --min-confidence .5` may find nothing.

    Example: `tsgen calibrate runs/engine data/wiki-10k --split dev --check test --plot sure.png`
    """
    from tsgen.corpus.load import load
    from tsgen.evaluate.calibration import calibrate as fit_confidence

    with progress():
        found = fit_confidence(
            engine, load(data, qrels=qrels), split=split, check=check, limit=limit
        )
    if plot is not None:
        found.plot(plot)
    report(found.table(), found.as_json(), json, table)
