"""Calibrated confidence: fit it on one split, see on another how far it can be trusted.

The expected calibration error (ECE) sorts answers into ten bins by confidence and is

    Σ_b n_b / n · |share of right answers in b − mean confidence in b|,

with bins of equal width (0–.1, .1–.2, …) or of equal mass (as many answers in each).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tsgen.corpus.dataset import DataSet, some_judged
from tsgen.errors import DataError
from tsgen.evaluate.plots import line_plot
from tsgen.evaluate.tables import Column, Row, Table, to_json
from tsgen.progress import show
from tsgen.retrieve.bench import run_queries
from tsgen.retrieve.confidence import DEPTH, Calibration, features, fit_calibration
from tsgen.retrieve.engine import Engine

Floats = NDArray[np.float64]
Kind = Literal["width", "mass"]

BINS = 10
KINDS: tuple[Kind, ...] = ("width", "mass")
FEWEST = 20  # answers to fit on: with fewer the coefficients say nothing
THRESHOLD = 0.5
PERFECT = "as it should be"


@dataclass(frozen=True, slots=True)
class Reliability:
    """Confidence and truth of many answers, bin by bin; bins without answers are left out."""

    confidence: Floats  # [B] mean
    right: Floats  # [B] share
    count: NDArray[np.int64]  # [B]

    @property
    def error(self) -> float:
        """ECE."""
        return float(np.average(np.abs(self.confidence - self.right), weights=self.count))


def reliability(
    confidence: Floats, right: NDArray[np.bool_], bins: Kind, number: int = BINS
) -> Reliability:
    """Sort answers [Q] into bins of equal width or of equal mass."""
    if bins == "width":
        place = np.minimum((confidence * number).astype(int), number - 1)
        members = [np.flatnonzero(place == i) for i in range(number)]
    else:
        members = np.array_split(np.argsort(confidence, kind="stable"), number)
    filled = [rows for rows in members if len(rows)]
    return Reliability(
        np.array([confidence[rows].mean() for rows in filled]),
        np.array([right[rows].mean() for rows in filled]),
        np.array([len(rows) for rows in filled]),
    )


@dataclass(frozen=True, slots=True)
class Answers:
    """The features [Q, F] of a split's answers, and whether the first hit was right."""

    features: Floats
    right: NDArray[np.bool_]
    unanswered: int  # queries without a hit: there is nothing to be sure of


def answers(engine: Engine, data: DataSet, split: str, limit: int | None = None) -> Answers:
    """Search for a split's judged queries, or the first so many of them."""
    judged = some_judged(data, split, limit)
    queries = [data.queries()[id] for id in judged]

    def watch(done: int) -> None:
        show(f"{split}: queries", done, len(queries))

    run = run_queries(engine, queries, DEPTH, watch)
    found = {id: hits for id, hits in run.items() if hits}
    rows = [features(hits) for hits in found.values()]
    right = [judged[id].get(hits[0].document_id, 0) > 0 for id, hits in found.items()]
    return Answers(np.array(rows), np.array(right, np.bool_), len(run) - len(found))


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """How sure an engine was of its answers, split by split, and how right."""

    title: str
    calibration: Calibration
    confidence: Mapping[str, Floats]  # split → [Q]
    right: Mapping[str, NDArray[np.bool_]]

    def table(self) -> Table:
        """A row a split."""
        names = [
            "right",
            "confidence",
            "ECE, width",
            "ECE, mass",
            "Brier",
            "answered",
            "right then",
        ]
        columns = [Column("n", None), *(Column(name, None) for name in names)]
        rows = [Row(split, self._figures(split)) for split in self.confidence]
        notes = {
            "ECE": f"{BINS} bins of equal width or mass",
            "answered, right then": f"with min_confidence = {THRESHOLD}",
            "fitted on": str(self.calibration.source.get("split")),
        }
        return Table(columns, rows, self.title, notes, label="split")

    def as_json(self) -> dict[str, Any]:
        """The table with full figures, the bins of every split, and the coefficients."""
        bins = {
            split: {
                kind: [list(row) for row in _rows(reliability(sure, self.right[split], kind))]
                for kind in KINDS
            }
            for split, sure in self.confidence.items()
        }
        return to_json(self.table()) | {"bins": bins, "calibration": self.calibration.model_dump()}

    def plot(self, path: Path) -> None:
        """Confidence against truth, in bins of equal mass."""
        series: dict[str, tuple[Sequence[float], Sequence[float]]] = {PERFECT: ([0, 1], [0, 1])}
        for split in self.confidence:
            found = reliability(self.confidence[split], self.right[split], "mass")
            series[split] = (found.confidence.tolist(), found.right.tolist())
        line_plot(path, series, title=self.title, x="confidence", y="share of right first hits")

    def _figures(self, split: str) -> list[float | int | None]:
        confidence, right = self.confidence[split], self.right[split]
        sure = confidence >= THRESHOLD
        return [
            len(right),
            float(right.mean()),
            float(confidence.mean()),
            reliability(confidence, right, "width").error,
            reliability(confidence, right, "mass").error,
            float(np.square(confidence - right).mean()),
            float(sure.mean()),
            float(right[sure].mean()) if sure.any() else None,
        ]


def _rows(found: Reliability) -> Iterator[tuple[float, float, int]]:
    columns = found.confidence.tolist(), found.right.tolist(), found.count.tolist()
    return zip(*columns, strict=True)


def calibrate(
    engine: Path,
    data: DataSet,
    *,
    split: str = "dev",
    check: str | None = None,
    limit: int | None = None,
) -> CalibrationReport:
    """Fit an engine's confidence on a split's queries and keep it in the engine's folder; report on
    these queries and on those of the split `check`."""
    opened = Engine.load(engine)
    data.judgments(check or split)  # a mistake is found before the search
    found = {split: answers(opened, data, split, limit)}
    if len(found[split].right) < FEWEST:
        raise DataError(
            f"{data.name}, {split}: {len(found[split].right)} queries were answered; expected at "
            f"least {FEWEST} to fit a confidence on. Choose a larger split."
        )
    source: dict[str, str | int] = {"data": data.name, "split": split}
    source |= {"queries": len(found[split].right), "beam": opened.config.decode.beam}
    fitted = fit_calibration(found[split].features, found[split].right, source)
    if check is not None:
        found[check] = answers(opened, data, check, limit)
    fitted.save(engine)
    sure = {name: fitted.probabilities(one.features) for name, one in found.items()}
    right = {name: one.right for name, one in found.items()}
    return CalibrationReport(f"{data.name}: confidence in the first hit", fitted, sure, right)
