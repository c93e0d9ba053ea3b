"""What a pre-trained start is worth: engines fitted from tsgen-mini and from a flat start, with the
same pairs and steps, in one table with BM25.

    python experiments/starts.py DATA [--preset cpu] [--set …]

writes docs/results/starts-NAME.json and .md. All are after iteration 1. A flat start has a decoder
that knows the sequence of terms, fresh, with a copy path. It is trained as the preset says, and by
the paper's loss on terms by weight, which suits it better.
"""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from tsgen.artifact import read_manifest
from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.config import read_settings
from tsgen.corpus.dataset import DataSet, cache_folder_of
from tsgen.corpus.load import load
from tsgen.evaluate.compare import SystemComparison, query_groups
from tsgen.evaluate.metrics import evaluate_groups
from tsgen.records import Run
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.build import engine_config, fit_engine, trained_stages
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.systems import SYSTEMS, check_tables
from tsgen.training_loop import training_seconds

FLAT = ["model.backbone=mini-flat", "model.copying=true"]
SEQ2SEQ = {
    "train.loss": "seq2seq",
    "train.order": "weight",
    "train.prior_weight": 0,
    "train.random_negatives": 0,
    "train.similar_negatives": 0,
    "train.first_tokens": 0,
    "train.learning_rate": 5e-4,
    "train.encoder_learning_rate": 1e-4,
    "train.validate_every": 125,
    "train.validation.prior_weight": 0,
    "decode.prior_weight": 2.0,
}
STARTS = {
    "flat": FLAT,
    "flat, by weight": [*FLAT, *(f"{name}={value}" for name, value in SEQ2SEQ.items())],
    "tsgen-mini": ["model.backbone=mini"],
}
DEPTH = 100


def main() -> None:
    """Fit, search, print and write."""
    options = _options()
    data = load(options.data)
    minutes: dict[str, float] = {}
    with progress():
        comparison = _compare(data, options, minutes)
    shown = ", ".join(f"{name} {value:.1f}" for name, value in minutes.items())
    notes = {"minutes of training": shown} | made()
    table = comparison.table()
    table = replace(table, notes={**table.notes, **notes})
    figures = comparison.as_json() | notes | {"minutes": minutes}
    publish(options.out / f"starts-{data.name}", figures, table)


def _compare(data: DataSet, options: Namespace, minutes: dict[str, float]) -> SystemComparison:
    judgments = data.judgments(options.split)
    queries = [data.queries()[id] for id in judgments]
    bench = Bench(data, queries, DEPTH, options.seed, cache_folder_of(data))
    lexical = SYSTEMS.get("bm25")
    runs = {"bm25": bench.run(lexical, lexical.settings({}))}
    for name in STARTS:
        runs[name] = _run(name, bench, options, minutes)
    groups = query_groups(data, options.split)
    scores = {name: evaluate_groups(run, judgments, groups) for name, run in runs.items()}
    title = f"{data.name}, {options.split}, preset {options.preset}, iteration 1"
    return SystemComparison(title, DEPTH, None, scores, (options.seed,))


def _run(name: str, bench: Bench, options: Namespace, minutes: dict[str, float]) -> Run:
    over = ["train.iterations=1", *STARTS[name], *options.settings]
    tables = read_settings(None, over, options.preset)
    check_tables(tables)
    config = engine_config(tables)
    label = name.replace(", ", "-").replace(" ", "-")
    engine = options.engines / f"starts-{bench.data.name}-{label}"
    fit_engine(bench.data, config, engine, options.seed)
    _, (iteration,) = trained_stages(bench.data, config, options.seed, bench.cache)
    minutes[name] = training_seconds(iteration) / 60
    return bench.search(f"starts-{label}", read_manifest(engine).key, lambda: Engine.load(engine))


def _options() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--split", default="test")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engines", type=Path, default=Path("runs"), help="where engines go")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
