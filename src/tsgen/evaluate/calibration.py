"""Calibration of confidence: fit the probability that the first hit is right, and check it.

`tsgen calibrate` fits an engine's confidence (see `tsgen.retrieve.confidence`) on the queries of
one split and reports how reliable it is there and on another split. The expected calibration error
(ECE) sorts answers into ten bins by confidence and is

    Σ_b n_b / n · |share of right answers in b − mean confidence in b|,

where n answers are in all and n_b in bin b, with bins of equal width (0–.1, .1–.2, …) or of equal
mass (as many answers in each).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tsgen.corpus.dataset import DataSet, some_judged
from tsgen.corpus.in_memory import Documents, data_set_of
from tsgen.errors import DataError
from tsgen.evaluate.plots import line_plot
from tsgen.evaluate.tables import Column, Row, Table, to_json
from tsgen.progress import show
from tsgen.retrieve.bench import run_queries
from tsgen.retrieve.confidence import DEPTH, Calibration, features, fit_calibration
from tsgen.retrieve.engine import Engine

Floats = NDArray[np.float64]
BinKind = Literal["width", "mass"]

BINS = 10
KINDS: tuple[BinKind, ...] = ("width", "mass")
FEWEST = 20  # answers to fit on: with fewer the coefficients say nothing
THRESHOLD = 0.5  # of confidence, below which the table counts a query as not answered
PERFECT = "perfectly calibrated"


@dataclass(frozen=True, slots=True)
class Reliability:
    """Confidence and correctness of answers, bin by bin; bins without answers are left out."""

    confidence: Floats  # [B] mean
    right: Floats  # [B] share
    count: NDArray[np.int64]  # [B]

    @property
    def error(self) -> float:
        """The expected calibration error (ECE)."""
        return float(np.average(np.abs(self.confidence - self.right), weights=self.count))


def reliability(
    confidence: Floats, right: NDArray[np.bool_], bins: BinKind, number: int = BINS
) -> Reliability:
    """Sort answers into bins.

    Args:
        confidence: The confidence of each answer [Q].
        right: Whether each answer is right [Q].
        bins: Bins of equal `width` or of equal `mass`.
        number: How many bins.
    """
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
    """The first hits for a split's queries: the features that confidence is computed from, and
    whether they are right."""

    features: Floats  # [Q, F]
    right: NDArray[np.bool_]  # [Q]
    unanswered: int  # queries without a hit, which have no confidence


def answers(engine: Engine, data: DataSet, split: str, limit: int | None = None) -> Answers:
    """Search for a split's judged queries, or for `limit` of them, evenly spread."""
    judged = some_judged(data, split, limit)
    queries = [data.queries()[id] for id in judged]

    def watch(done: int) -> None:
        show(f"{split}: queries", done, len(queries))

    run = run_queries(engine, queries, DEPTH, watch)
    answered = {id: hits for id, hits in run.items() if hits}
    rows = [features(hits) for hits in answered.values()]
    right = [judged[id].get(hits[0].document_id, 0) > 0 for id, hits in answered.items()]
    return Answers(np.array(rows), np.array(right, np.bool_), len(run) - len(answered))


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """The confidence of an engine's answers and whether they are right, for each split."""

    title: str
    calibration: Calibration
    confidence: Mapping[str, Floats]  # split → [Q]
    right: Mapping[str, NDArray[np.bool_]]

    def table(self) -> Table:
        """Reliability figures, a row for each split."""
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
        """Plot the share of right answers against confidence, in bins of equal mass."""
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
    engine: Engine | Path | str,
    data: Documents,
    *,
    split: str = "dev",
    check: str | None = None,
    limit: int | None = None,
) -> CalibrationReport:
    """Fit the probability that an engine's first hit is right, and keep it in the engine's folder.

    Args:
        engine: An engine or its folder.
        data: A data set, or a path or name that `tsgen.load` takes.
        split: The judgments to fit on, which the engine was not trained on.
        check: Judgments of another split to report on, too.
        limit: So many of a split's queries, evenly spread.

    Examples:
        >>> tsgen.calibrate("runs/engine", "stdlib:", split="dev", check="test").table()
    """
    opened = engine if isinstance(engine, Engine) else Engine.load(engine)
    data = data_set_of(data)
    data.judgments(check or split)  # an unknown split is refused before the search
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
    opened.keep_calibration(fitted)
    sure = {name: fitted.probabilities(one.features) for name, one in found.items()}
    right = {name: one.right for name, one in found.items()}
    return CalibrationReport(f"{data.name}: confidence in the first hit", fitted, sure, right)
