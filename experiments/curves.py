"""Learning curves of several pre-trainings side by side: validation M@10 by step, seconds a step.

    python experiments/curves.py "as shipped=runs/mini" "six layers=runs/six" …

Each FOLDER is what `tsgen pretrain` wrote or, if it was stopped, its working folder beside it.
Writes docs/results/pretraining.json, .md and .png.
"""

import json
import shlex
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from rich.console import Console

from tsgen.artifact import LOGS, write_beside
from tsgen.cli.common import write_json
from tsgen.evaluate.plots import line_plot
from tsgen.evaluate.tables import Column, Row, Table, to_markdown, to_rich
from tsgen.training_loop import CURVE, TIME


@dataclass(frozen=True)
class Curve:
    """One run: (step, M@10) of each validation, and how long a step took."""

    name: str
    points: list[tuple[int, float]]
    seconds: float  # a step, validations included

    @classmethod
    def read(cls, argument: str) -> "Curve":
        """From NAME=FOLDER."""
        name, folder = argument.rsplit("=", 1)
        lines = (Path(folder) / CURVE).read_text().splitlines()
        points = [(point["step"], point["figure"]) for point in map(json.loads, lines)]
        timed = json.loads((Path(folder) / LOGS / TIME).read_text())
        return cls(name, points[1:], timed["seconds"] / timed["steps"])


def main() -> None:
    """Print and write."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    curves = [Curve.read(run) for run in options.runs]
    made = {"command": shlex.join(["python", *sys.argv]), "date": date.today().isoformat()}
    table = _table(curves, made)
    Console().print(to_rich(table))
    figures = {curve.name: {"M@10": curve.points, "seconds": curve.seconds} for curve in curves}
    write_json(str(options.out / "pretraining.json"), {"curves": figures} | made)
    with write_beside(options.out / "pretraining.md") as beside:
        beside.write_text(to_markdown(table), encoding="utf-8")
    minutes = {
        curve.name: (
            [step * curve.seconds / 60 for step, _ in curve.points],
            [figure for _, figure in curve.points],
        )
        for curve in curves
    }
    axes = {"title": "Pre-training", "x": "minutes", "y": "validation M@10"}
    line_plot(options.out / "pretraining.png", minutes, **axes)


def _table(curves: list[Curve], notes: dict[str, str]) -> Table:
    steps = sorted({step for curve in curves for step, _ in curve.points})
    columns = [Column("s a step", best=None), *(Column(f"{step:,}") for step in steps)]
    rows = [
        Row(curve.name, [curve.seconds, *(dict(curve.points).get(step) for step in steps)])
        for curve in curves
    ]
    return Table(columns, rows, "Validation M@10 after so many steps", notes, label="run")


if __name__ == "__main__":
    main()
