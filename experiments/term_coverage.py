"""The coverage table: the share of test queries' words among the terms of their documents.

    python experiments/term_coverage.py DATA… --weights random,tfidf,learned --n 8,12,16

writes docs/results/coverage.json and coverage.md.
"""

import shlex
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
from rich.console import Console

from tsgen.artifact import write_beside
from tsgen.cli.common import progress
from tsgen.config import read_settings
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.docids.assign import build_weights, term_sets, terms_config, weigh
from tsgen.evaluate.coverage import coverage
from tsgen.evaluate.tables import Column, Row, Table, to_json, to_markdown, to_rich
from tsgen.settings import TermsConfig
from tsgen.terms.selection import rank, select
from tsgen.terms.words import Splitter

ALL_WORDS = 2**31


def main() -> None:
    """Print the table and write it to the results."""
    options = _options()
    with progress():
        rows = [row for data in options.data for row in _rows(load(data), options)]
    columns = [*(Column(f"N = {n}") for n in options.n), Column("all words", best=None)]
    notes = {"command": shlex.join(["python", *sys.argv]), "seed": str(options.seed)}
    caption = f"Coverage: share of a {options.split} query's words among its document's terms"
    table = Table(columns, rows, caption, notes, label="weights", group_label="data")
    Console().print(to_rich(table))
    with write_beside(options.out / "coverage.json") as beside:
        beside.write_bytes(orjson.dumps(to_json(table), option=orjson.OPT_INDENT_2))
    with write_beside(options.out / "coverage.md") as beside:
        beside.write_text(to_markdown(table), encoding="utf-8")


def _options() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--weights", type=lambda names: names.split(","), required=True)
    parser.add_argument("--n", type=lambda ns: [int(n) for n in ns.split(",")], default=[8, 12, 16])
    parser.add_argument("--split", default="test")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--config", type=Path, help="TOML with a table for each kind of weights")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args()


def _rows(data: DataSet, options: Namespace) -> list[Row]:
    settings = read_settings(options.config, [], options.preset)
    rows = []
    for weights in options.weights:
        terms = {"terms": {**settings.get("terms", {}), "weights": weights}}
        figures = _figures(data, terms_config(settings | terms), options)
        rows.append(Row(weights, figures, group=data.name))
    return rows


def _figures(data: DataSet, config: TermsConfig, options: Namespace) -> list[float]:
    """Coverage for each N, from one weighing pass."""
    splitter = Splitter(config.words)
    with TemporaryDirectory() as folder:
        weights = build_weights(data, config, options.seed)
        candidates = rank(weigh(data, weights, Path(folder)), splitter.key)
    chosen = (term_sets(candidates, select(candidates, n)) for n in (*options.n, ALL_WORDS))
    return [coverage(sets, data, options.split, splitter) for sets in chosen]


if __name__ == "__main__":
    main()
