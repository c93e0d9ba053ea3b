"""`tsgen reproduce`: a table of the paper, on any data set."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import (
    CacheOption,
    LimitOption,
    QrelsOption,
    SeedOption,
    SplitOption,
    names_in,
    progress,
)


def reproduce(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="table1, 2, 5, 6, 7, hybrid, recipe, or a TOML file."),
    ],
    data: Annotated[str, typer.Option(metavar="DATA", help="As for tsgen compare.")],
    form: Annotated[
        str, typer.Option(help="cpu: hours on two cores. paper: T5-base, for a GPU.")
    ] = "cpu",
    rows: Annotated[str, typer.Option(help="Only these, separated by commas.")] = "",
    out: Annotated[Path, typer.Option(help="Where the results go.")] = Path("docs/results"),
    split: SplitOption = "test",
    qrels: QrelsOption = "qrels",
    limit: LimitOption = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Train each row for so long, whatever its epochs.")
    ] = None,
    seed: SeedOption = 0,
    cache: CacheOption = None,
) -> None:
    """Fit and evaluate every row of a table; write JSON, Markdown and a plot.

    What another table has trained is not trained again, and an interrupted command goes on.

    Example: `tsgen reproduce table6 --data data/wiki-10k --rows "term set,as a sequence"`
    """
    from tsgen.cli.published import publish_experiment
    from tsgen.corpus.load import load
    from tsgen.evaluate.experiment import read_experiment
    from tsgen.evaluate.reproduce import reproduce as run

    experiment, source = read_experiment(name), load(data, qrels=qrels)
    options = {"form": form, "split": split, "limit": limit, "minutes": minutes, "seed": seed}
    with progress():
        found = run(experiment, source, rows=names_in(rows), cache=cache, **options)  # type: ignore[arg-type]
    told = options | {"rows": rows, "qrels": Path(qrels).name}
    publish_experiment(out, name, source.name, found, told)
