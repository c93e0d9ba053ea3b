"""Fit engines and write what each iteration gains: BM25, iteration 1, iteration 2 … in one table.

    python experiments/fit.py DATA… --preset cpu [--split test] [--set train.epochs=3]

writes docs/results/fit-NAME.json and fit-NAME.md for each data set. Interrupted, it goes on.
"""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.config import read_settings
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.evaluate.iterations import IterationComparison, compare_iterations
from tsgen.retrieve.build import engine_config, fit_engine
from tsgen.retrieve.systems import check_tables


def main(arguments: list[str] | None = None) -> None:
    """Fit, search, print and write."""
    options = _options(arguments)
    for name in options.data:
        data = load(name, qrels=options.qrels)
        with progress():
            found = _fit(data, options)
        _write(found, data.name, options)


def _options(arguments: list[str] | None) -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--config", type=Path, help="TOML over the preset")
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--qrels", default="qrels")
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, help="only so many queries, evenly spread")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--engines", type=Path, default=Path("runs"), help="where engines go")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args(arguments)


def _fit(data: DataSet, options: Namespace) -> IterationComparison:
    tables = read_settings(options.config, options.settings, options.preset)
    check_tables(tables)
    engine = options.engines / f"fit-{data.name}"
    fit_engine(data, engine_config(tables), engine, options.seed, options.cache)
    return compare_iterations(
        data,
        engine,
        split=options.split,
        limit=options.limit,
        cache=options.cache,
        title=f"{data.name}, {options.qrels}, {options.split}, preset {options.preset}",
    )


def _write(found: IterationComparison, name: str, options: Namespace) -> None:
    table, notes = found.table(), made(seed=options.seed)
    table = replace(table, notes={**table.notes, **notes})
    publish(options.out / f"fit-{name}", found.as_json() | notes, table)


if __name__ == "__main__":
    main()
