"""Quality and speed side by side: ours at their presets, and the systems that others would use.

    python benchmarks/latency.py DATA [DATA …] [--systems "BM25,tsgen, vectors" | untrained | all]
                                 [--queries 200] [--cache DIR] [--out docs/results]

For each data set the systems are made (what was made before is taken from --cache) and then asked
the same test queries in turn, one at a time, each in a process of its own that computes on one
thread; then all test queries at once. Writes latency-DATA.json, .md and .png.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from speed_kit.processes import Asked
from speed_kit.systems import SUBJECTS, UNTRAINED, Made
from tsgen.artifact import write_beside
from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.errors import TsgenError
from tsgen.evaluate.plots import COLOURS, INK, RULE
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.reciprocal_rank import mean_reciprocal_rank

ROOT = Path(__file__).resolve().parents[1]
K, WARM = 10, 20
BULK = 2000  # queries at once, at the most
Figures = dict[str, Any]

COLUMNS = {
    "M@10": Column("M@10"),
    "p50_ms": Column("p50, ms", "low", 2),
    "p99_ms": Column("p99, ms", "low", 2),
    "bulk": Column("queries a second, bulk", "high", 0),
    "index_s": Column("index, s", "low", 0),
    "peak_mb": Column("peak, MB", "low", 0),
    "bytes": Column("bytes a document", "low", 0),
    "load_s": Column("load, s", "low", 2),
}


def main() -> None:
    """Make, measure, print and write."""
    options = _arguments()
    for path in options.data:
        data = load(path)
        with progress():
            subjects, missing = _made(data, options)
        rows = measure(data, subjects, options.queries)
        name = f"latency-{data.name}"
        picture = options.out / f"{name}.png"
        plot(picture, rows, f"{data.name}: quality and time of a query")
        publish(
            options.out / name,
            {"systems": rows, "missing": missing} | made(),
            _table(data, rows, missing, options.queries),
            picture=picture.name,
        )


def _arguments() -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--systems", default="untrained", help="names, `untrained` or `all`")
    parser.add_argument("--queries", type=int, default=200, help="asked one at a time")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "benchmarks" / "latency")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    return parser.parse_args()


def _chosen(systems: str) -> list[str]:
    if systems in ("untrained", "all"):
        return list(UNTRAINED if systems == "untrained" else SUBJECTS)
    chosen = [name for name in SUBJECTS if name in systems]
    if not chosen:
        raise SystemExit(f"--systems {systems!r}: expected some of {'; '.join(SUBJECTS)}")
    return chosen


def _made(data: DataSet, options: Namespace) -> tuple[list[Made], dict[str, str]]:
    """The systems, and why others are missing: a package that is not installed."""
    subjects, missing = list[Made](), dict[str, str]()
    for name in _chosen(options.systems):
        try:
            subjects.append(SUBJECTS[name].make(data, options.cache))
        except (ImportError, TsgenError) as error:
            missing[name] = str(error)
            print(f"without {name}: {error}")
    return subjects, missing


def measure(data: DataSet, subjects: list[Made], queries: int) -> dict[str, Figures]:
    """The figures of each system."""
    judged = data.judgments("test")
    known, ids = data.queries(), list(judged)[:BULK]
    texts, relevant = [known[id].text for id in ids], [set(judged[id]) for id in ids]
    asked = {one.name: Asked(one) for one in subjects}
    seconds: dict[str, list[float]] = {name: [] for name in asked}
    for number, text in enumerate(texts[:WARM] + texts[:queries]):
        for name, system in asked.items():
            taken = system.ask(text, K)
            if number >= min(WARM, len(texts)):
                seconds[name].append(taken)
    rows = {}
    documents = sum(1 for _ in data.documents())
    for one in subjects:
        system = asked[one.name]
        bulk, processor, found = system.bulk(texts, K)
        p50, p99 = np.percentile(seconds[one.name], [50, 99]) * 1000
        rows[one.name] = {
            "M@10": mean_reciprocal_rank(found, relevant),
            "p50_ms": float(p50),
            "p99_ms": float(p99),
            "bulk": len(texts) / bulk,
            "bulk_processor_ms": 1000 * processor / len(texts),
            "index_s": one.seconds,
            "peak_mb": system.end(),
            "bytes": 1024 * one.kilobytes / documents,
            "load_s": system.loading,
            "documents": documents,
            "queries": len(texts),
        }
    return rows


def frontier(rows: dict[str, Figures]) -> list[str]:
    """The systems that no other is both better and faster than, fastest first."""
    found = list[str]()
    for name in sorted(rows, key=lambda name: (rows[name]["p50_ms"], -rows[name]["M@10"])):
        if not found or rows[name]["M@10"] > rows[found[-1]]["M@10"]:
            found.append(name)
    return found


def plot(path: Path, rows: dict[str, Figures], title: str) -> None:
    """M@10 against the median time of a query; a line through those that none surpasses."""
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    best = frontier(rows)
    at = {name: (row["p50_ms"], row["M@10"]) for name, row in rows.items()}
    axes.step(*zip(*(at[name] for name in best), strict=True), where="post", color=RULE, zorder=1)
    for name, (x, y) in at.items():
        colour = COLOURS[1] if name.startswith("tsgen") else COLOURS[0]
        axes.scatter(x, y, color=colour, zorder=2, s=60 if name in best else 24)
        axes.annotate(name, (x, y), (6, 5), textcoords="offset points", fontsize=8, color=INK)
    axes.set_xscale("log")
    axes.margins(x=0.25, y=0.15)
    axes.set_xlabel("median time of a query, ms, one thread", color=INK)
    axes.set_ylabel("M@10", color=INK)
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    with write_beside(path) as beside:
        figure.savefig(beside, format="png", dpi=150)


def _table(data: DataSet, rows: dict[str, Figures], missing: dict[str, str], queries: int) -> Table:
    own = next(iter(rows.values()))
    notes = {
        "data": f"{data.name}, {own['documents']:,} documents",
        "queries": f"{queries} one at a time, {own['queries']:,} at once; one thread each",
        "bytes a document": "what is read to find it, without texts and models",
        "frontier": ", ".join(frontier(rows)),
    }
    notes |= {f"without {name}": why for name, why in missing.items()}
    lines = [Row(name, [row[key] for key in COLUMNS]) for name, row in rows.items()]
    return Table(list(COLUMNS.values()), lines, "Quality and speed", notes | made())


if __name__ == "__main__":
    main()
