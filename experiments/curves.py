"""Learning curves of several pre-trainings side by side: validation M@10 by step, seconds a step.

    python experiments/curves.py "as shipped=runs/mini" "six layers=runs/six" …

Each FOLDER is what `tsgen pretrain` wrote or, if it was stopped, its working folder beside it.
Writes docs/results/pretraining.json, .md and .png.
"""

import json
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from tsgen.artifact import LOGS
from tsgen.cli.publishing import made, publish
from tsgen.evaluate.plots import line_plot
from tsgen.evaluate.tables import Column, Row, Table
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
    figures = {curve.name: {"M@10": curve.points, "seconds": curve.seconds} for curve in curves}
    notes = made()
    publish(options.out / "pretraining", {"curves": figures} | notes, _table(curves, notes))
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
