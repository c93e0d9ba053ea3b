"""The figures as tables on the terminal, as a page, as JSON and as plots."""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from tsgen.artifact import write_beside
from tsgen.evaluate.plots import line_plot
from tsgen.evaluate.tables import Column, Row, Table, to_markdown, to_rich

Figures = Mapping[str, Any]

WIDTH = 150  # tables are wide; a narrower terminal wraps their lines
PAPER = {10: 0.06, 100: 0.69}  # Table 5: seconds a query on NQ320K, T5-base, the authors' GPU


def tables(figures: Figures) -> list[Table]:
    """One table for each part that was run."""
    makers = {"latency": _latency, "growth": _growth, "peers": _peers, "targets": _targets}
    notes = {"machine": figures["machine"], "run": figures["command"]}
    found = [make(figures[part]) for part, make in makers.items() if figures.get(part)]
    return [replace(table, notes={**notes, **table.notes}) for table in found]


def write(figures: Figures, out: Path) -> None:
    """Print everything, and write it to `out`."""
    shown, console = tables(figures), Console(width=max(Console().width, WIDTH))
    for table in shown:
        console.print(to_rich(table))
    out.mkdir(parents=True, exist_ok=True)
    with write_beside(out / "decoding.json") as beside:
        beside.write_text(json.dumps(figures, indent=1) + "\n")
    plots = _plots(figures, out)
    page = ["# Decoding: time, memory, growth", "", figures["about"], ""]
    page += [part for table in shown for part in (to_markdown(table), "")]
    page += [part for name, text in plots.items() for part in (f"![{text}]({name})", "")]
    with write_beside(out / "decoding.md") as beside:
        beside.write_text("\n".join(page))


def _latency(rows: list[dict[str, Any]]) -> Table:
    columns = [
        Column("s / query", "low"),
        Column("median", "low"),
        Column("model", None),
        Column("constraint", None),
        Column("search", None),
        Column("documents", None, 1),
        Column("paper's GPU", None, 2),
    ]
    body = [
        Row(
            f"{row['spelling']}, {row['search']}",
            [
                row["seconds"],
                row["median"],
                _share(row["model_share"]),
                _share(row["constraint_share"]),
                _share(row["search_share"]),
                row["documents_found"],
                PAPER.get(row["beam"]),
            ],
            group=str(row["beam"]),
        )
        for row in sorted(rows, key=lambda row: row["beam"])
    ]
    notes = {
        "paper's GPU": "Table 5 of the paper, T5-base on NQ320K's 109,739 documents with the "
        "authors' GPU; ours is a far smaller model on CPU cores with wikipages-110k, as many "
        "documents: the two columns share a scale, not a setting",
        "model": "mini (MiniLM 3 layers, decoder 2 layers), trained for a few minutes",
    }
    return Table(columns, body, "wikipages-110k, one query at a time", notes, "setting", "beam")


def _growth(rows: list[dict[str, Any]]) -> Table:
    columns = [
        Column("s / query", None),
        Column("constraint", None),
        Column("constraint ms", None, 1),
        Column("search", None),
        Column("index GB", None, 2),
        Column("peak GB", None, 2),
        Column("target found", None, 2),
    ]
    body = [
        Row(
            f"{row['documents']:,} × {row['n']}, beam {row['beam']}, {row['search']}",
            [
                row["seconds"],
                _share(row["constraint_share"]),
                row["constraint_seconds"] * 1e3,
                _share(row["search_share"]),
                row["disk_gb"],
                row["peak_gb"],
                row["found"],
            ],
        )
        for row in rows
    ]
    notes = {
        "sets": "synthetic, terms drawn by Zipf's law from 32,000; memory-mapped",
        "peak GB": "resident memory of the whole process: Python, model, mapped pages",
    }
    return Table(columns, body, "Growth with the number of documents", notes, "documents × terms")


def _peers(rows: list[dict[str, Any]]) -> Table:
    columns = {
        Column("s / query", "low"): "seconds",
        Column("plain ×", "high", 1): "times_faster_than_plain",
        Column("constraint ms", "low", 1): "constraint_ms",
        Column("× constraint", None, 1): "constraint_times_slower",
        Column("documents", None, 1): "documents_found",
        Column("full as likely", None, 2): "full_as_likely",
        Column("queries", None): "queries",
        Column("M@10"): "M@10",
        Column("R@10"): "R@10",
        Column("R@100"): "R@100",
    }
    body = []
    for row in rows:
        values = row | {
            "constraint_ms": row["constraint_seconds"] * 1e3,
            "queries": str(row["queries"]),
        }
        cells = [values[key] for key in columns.values()]
        body.append(Row(row["system"], cells, group=row["spelling"]))
    notes = {
        "tsgen, valid": "log p over what is valid, so its log p are not those of the others",
        "tsgen, sum": "the same, with the probabilities of all orders of a document's terms added",
        "generate": "transformers' generate with prefix_allowed_tokens_fn on the same constraint",
        "plain": "a Python loop over beams, numpy sets, a mask over the vocabulary, no merging",
        "plain ×": "how many times as long plain takes for the same queries",
        "× constraint": "times as much of the constraint's own work as `tsgen, full`",
        "full as likely": "share of queries where each of the ten best documents of `tsgen, full` "
        "is at least as likely as the other's at the same rank",
        "M@10, R@k": "of a model trained for minutes: for comparing the searches, not as results; "
        "of as many queries as the row says",
    }
    caption = f"Peers at beam {rows[0]['beam']}, one run, queries in turn"
    return Table(list(columns), body, caption, notes, group_label="spelling")


def _targets(rows: list[dict[str, Any]]) -> Table:
    columns = [Column("measured", None, 2), Column("wanted", None), Column("", None)]
    body = [
        Row(row["what"], [row["measured"], row["wanted"], "yes" if row["met"] else "no"])
        for row in rows
    ]
    return Table(columns, body, "Targets", {}, "target")


def _share(value: float) -> str:
    return f"{value:.1%}"


def _plots(figures: Figures, out: Path) -> dict[str, str]:
    """Draw what was measured; file name → what it shows."""
    drawn = {}
    if figures.get("growth"):
        drawn["decoding-growth.png"] = "time per query against the number of documents"
        _plot_growth(figures["growth"], out / "decoding-growth.png")
    if figures.get("shrinking"):
        drawn["decoding-shrinking.png"] = "|Y| after each term, over real queries"
        _plot_shrinking(figures["shrinking"], out / "decoding-shrinking.png")
    return drawn


def _plot_growth(rows: list[dict[str, Any]], path: Path) -> None:
    series = {}
    for kind, beam in product(("full", "sum"), sorted({row["beam"] for row in rows})):
        some = [r for r in rows if (r["beam"], r["n"], r["search"]) == (beam, 12, kind)]
        sizes = [row["documents"] for row in some]
        series[f"{kind}, beam {beam}"] = sizes, [row["seconds"] for row in some]
        if beam == max(row["beam"] for row in rows):
            seconds = [row["constraint_seconds"] for row in some]
            series[f"{kind}, beam {beam}: constraint"] = sizes, seconds
    line_plot(
        path,
        series,
        title="Time per query, synthetic Zipf sets, N = 12",
        x="documents",
        y="seconds",
        log_x=True,
        log_y=True,
    )


def _plot_shrinking(paths: Mapping[str, list[list[int]]], path: Path) -> None:
    series = {}
    for kind, rows in paths.items():
        steps = max(map(len, rows))
        # A set that is complete early has found its documents: it stays where it ended.
        table = np.array([row + row[-1:] * (steps - len(row)) for row in rows])
        for name, share in (("upper quartile", 75), ("median", 50), ("lower quartile", 25)):
            values = np.percentile(table, share, axis=0)
            series[f"{kind}: {name}"] = np.arange(1, steps + 1), values
    queries = len(next(iter(paths.values())))
    line_plot(
        path,
        series,
        title=f"Documents left after each term, {queries} real queries",
        x="terms generated",
        y="|Y|",
        log_y=True,
    )
