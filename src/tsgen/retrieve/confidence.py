"""How sure is an engine that its first hit is right?

    p = σ(b + Σ_f c_f · x_f),

a logistic regression over what a search knows of its answer:

    score     of the first hit
    margin    how far the second is behind
    lead      of the first over all others together: s_1 − log Σ_{i ≥ 2} exp s_i
    breadth   log |Y| after the first term: how many documents that term left
    steps     terms until one document was left
    surprise  −log p of the first term

fitted on judged queries that the engine was not trained on, and kept in the engine's folder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import Field

from tsgen.artifact import CALIBRATION as FILE
from tsgen.artifact import write_beside
from tsgen.config import StageConfig
from tsgen.errors import ArtifactError, ConfigError, DamagedError
from tsgen.integrity import checksum
from tsgen.records import Hit, Reason

DEPTH = 10  # hits that are compared
FARTHEST = 20.0  # a larger margin says no more, and there may be no second hit at all
FEATURES = ("score", "margin", "lead", "breadth", "steps", "surprise")
RIDGE = 1.0  # of the standardised coefficients: some would part a small sample without an error
NEWTON = 100  # steps at the most; about ten are needed

Floats = NDArray[np.float64]


def features(hits: Sequence[Hit]) -> Floats:
    """The features x [F] of a query's hits, of which there must be at least one."""
    scores = np.array([hit.score for hit in hits[:DEPTH]], np.float64)
    margin = lead = FARTHEST
    if len(scores) > 1:
        margin = min(scores[0] - scores[1], FARTHEST)
        lead = min(scores[0] - np.logaddexp.reduce(scores[1:]), FARTHEST)
    reason = hits[0].reason or Reason((), (), ())
    first = reason.valid_documents[:1] or (1,)
    steps = sum(valid > 1 for valid in reason.valid_documents)
    surprise = -sum(reason.log_probs[:1])
    return np.array([scores[0], margin, lead, np.log(max(*first, 1)), steps, surprise])


class Calibration(StageConfig):
    """The coefficients of the logistic regression, and the queries that they were fitted on."""

    intercept: float
    coefficients: dict[str, float]
    source: dict[str, str | int] = Field(default_factory=dict)

    def confidence(self, hits: Sequence[Hit]) -> float:
        """The probability that the first of these hits, as they were found, is right."""
        return float(self.probabilities(features(hits)[None])[0])

    def probabilities(self, x: Floats) -> Floats:
        """The probability [Q] of each answer, given the features [Q, F]."""
        slopes = np.array([self.coefficients[name] for name in FEATURES])
        return _sigmoid(self.intercept + x @ slopes)

    def save(self, engine: Path) -> None:
        """Write the calibration into an engine's folder, in place of the one there."""
        with write_beside(engine / FILE) as beside:
            values = self.model_dump()
            values["checksum"] = checksum(orjson.dumps(values))
            beside.write_bytes(orjson.dumps(values, option=orjson.OPT_INDENT_2))

    @classmethod
    def load(cls, engine: Path) -> Self | None:
        """Read the calibration in an engine's folder; None if there is none."""
        path = engine / FILE
        if not path.exists():
            return None
        try:
            values = orjson.loads(path.read_bytes())
            if values.pop("checksum", None) != checksum(orjson.dumps(values)):
                raise DamagedError("its checksum is another")
            found = cls.from_mapping(values, source=f"{path}")
        except (ValueError, AttributeError, DamagedError, ConfigError, TypeError) as error:
            raise DamagedError(f"{path}: {error}. Write it anew with `tsgen calibrate`.") from None
        if found.coefficients.keys() != set(FEATURES):
            raise ArtifactError(
                f"{path}: coefficients of {', '.join(found.coefficients)}; expected "
                f"{', '.join(FEATURES)}. Write it anew with `tsgen calibrate`."
            )
        return found


def fit_calibration(
    x: Floats, right: NDArray[np.bool_], source: Mapping[str, str | int] | None = None
) -> Calibration:
    """Fit the regression to the features [Q, F] of answers and to whether each first hit was
    right."""
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1.0
    intercept, *slopes = logistic_regression((x - mean) / scale, right)
    unscaled = np.array(slopes) / scale
    named = dict(zip(FEATURES, unscaled.tolist(), strict=True))
    intercept = float(intercept - unscaled @ mean)
    return Calibration(intercept=intercept, coefficients=named, source=dict(source or {}))


def logistic_regression(x: Floats, right: NDArray[np.bool_], ridge: float = RIDGE) -> Floats:
    """Intercept and slopes [1 + F] that maximise Σ log p(right) − ridge / 2 · |slopes|², found by
    Newton's method."""
    design = np.column_stack([np.ones(len(x)), x])
    penalty = np.full(design.shape[1], ridge)
    penalty[0] = 1e-6  # all right or all wrong: a large intercept, not an infinite one
    beta = np.zeros(design.shape[1])
    for _ in range(NEWTON):
        p = _sigmoid(design @ beta)
        gradient = design.T @ (right - p) - penalty * beta
        curvature = (design * (p * (1 - p))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        beta += step / max(1.0, float(np.abs(step).max()))  # never too far at once
        if np.abs(step).max() < 1e-9:
            break
    return beta


def sure_enough(
    found: Sequence[list[Hit]], k: int, calibration: Calibration | None, least: float | None
) -> list[list[Hit]]:
    """Give each query's first hit its confidence, and return at most `k` hits of each; none where
    the confidence is below `least`."""
    if calibration is None:
        if least is not None:
            raise ConfigError(
                f"min_confidence = {least}: this engine's confidence was never calibrated; "
                "expected one that was. Run: tsgen calibrate ENGINE DATA --split dev"
            )
        return [hits[:k] for hits in found]
    answers = [_with_confidence(hits, calibration)[:k] for hits in found]
    return [hits if _reaches(hits, least) else [] for hits in answers]


def _with_confidence(hits: list[Hit], calibration: Calibration) -> list[Hit]:
    if not hits:
        return hits
    return [replace(hits[0], confidence=calibration.confidence(hits)), *hits[1:]]


def _reaches(hits: list[Hit], least: float | None) -> bool:
    return least is None or any((hit.confidence or 0.0) >= least for hit in hits[:1])


def _sigmoid(x: Floats) -> Floats:
    clipped: Floats = 1 / (1 + np.exp(-np.clip(x, -30, 30)))
    return clipped
