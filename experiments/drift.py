"""A collection that grows without training: who still finds the old documents, who finds the new?

    python experiments/drift.py DATA --systems tsgen,genre,dsi,seal,bm25 --minutes 5

The protocol of the study of generative retrieval over dynamic corpora (Zhang et al., SIGIR 2025): a
random half of the documents, D0, is what systems are trained on; the others come in five parts D1
to D5, and each is added without training. After each part: Hit@10 of the queries for D0, of those
for all added documents, and of those for the newest part. F is what Hit@10 of D0 loses by the end,
GA the mean of the newest parts' figures. Nothing that trains or validates knows a query for a
document outside D0, and none of the test.

Writes docs/results/drift-DATA.json, .md and .png.
"""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.config import read_settings
from tsgen.corpus.dataset import cache_folder_of
from tsgen.corpus.load import load
from tsgen.corpus.shards import Shard
from tsgen.evaluate.compare import with_minutes
from tsgen.evaluate.generalisation import (
    GrowthStep,
    check_reindexed,
    forgetting,
    generalisation,
    growing,
    growth,
)
from tsgen.evaluate.metrics import DEPTH
from tsgen.evaluate.plots import line_plot
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.systems import SYSTEMS, check_tables

SYSTEMS_SHOWN = "tsgen,genre,dsi,seal,bm25"


def main() -> None:
    """Measure, print and write."""
    options = _options()
    data = load(options.data)
    shards = growing(data, options.parts, options.first, options.seed, options.split)
    with progress():
        found = {name: _steps(name, shards, options) for name in options.systems.split(",")}
    notes = made(seed=options.seed, minutes=options.minutes, limit=options.limit)
    figures = {
        name: {
            "F": forgetting(steps),
            "GA": generalisation(steps),
            "steps": [asdict(step) for step in steps],
        }
        for name, steps in found.items()
    }
    path = options.out / f"drift-{data.name}"
    title = f"A collection that grows: {data.name}, Hit@10"
    table = drift_table(found, title, notes)
    publish(path, {"systems": figures} | notes, table, picture=f"{path.name}.png")
    lines = {
        f"{name}, {what}": _line(steps, what)
        for name, steps in found.items()
        for what in ("old", "added")
    }
    line_plot(path.with_suffix(".png"), lines, title=title, x="documents", y="Hit@10")


def _options() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--systems", default=SYSTEMS_SHOWN, help="separated by commas")
    parser.add_argument("--parts", type=int, default=5)
    parser.add_argument("--first", type=float, default=0.5, help="the share of D0")
    parser.add_argument("--minutes", type=float, help="of training for each system that trains")
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, help="of all queries, evenly spread")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args()


def _steps(name: str, shards: list[Shard], options: Namespace) -> list[GrowthStep]:
    """One system's figures as the collection grows."""
    tables = read_settings(None, options.settings, options.preset)
    if options.minutes is not None:
        tables = with_minutes(tables, options.minutes)
    check_tables(tables)
    each = SYSTEMS.get(name)
    check_reindexed([each])
    cache = cache_folder_of(shards[0], options.cache)
    bench = Bench(shards[0], [], DEPTH, options.seed, cache)
    return growth(bench, shards, each, each.settings(tables), options.limit)


def drift_table(found: dict[str, list[GrowthStep]], title: str, notes: dict[str, str]) -> Table:
    """Systems as rows: D0 alone, old and added documents at the end, F and GA."""
    names = ("D0 alone", "D0 at the end", "added at the end", "F", "GA")
    columns = [Column(name, "low" if name == "F" else "high") for name in names]
    rows = [
        Row(name, [steps[0].old, steps[-1].old, steps[-1].added, forgetting(steps),
                   generalisation(steps)])
        for name, steps in found.items()
    ]  # fmt: skip
    return Table(columns, rows, title, notes)


def _line(steps: list[GrowthStep], what: str) -> tuple[list[float], list[float]]:
    known = [(step.documents, getattr(step, what)) for step in steps]
    points = [(float(x), float(y)) for x, y in known if y is not None]
    return [x for x, _ in points], [y for _, y in points]


if __name__ == "__main__":
    main()
