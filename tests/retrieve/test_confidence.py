"""How sure an engine is: what it looks at, the regression, and answers that are left out."""

from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from small_engine import QUERY, write_small_engine
from tsgen.errors import ArtifactError, ConfigError
from tsgen.records import Hit, Reason
from tsgen.retrieve.confidence import (
    FARTHEST,
    FEATURES,
    Calibration,
    features,
    fit_calibration,
    logistic_regression,
    sure_enough,
)
from tsgen.retrieve.engine import Engine

FIRST = Hit("a", -1.0, Reason(("bread", "white", "salt"), (-0.5, -0.4, -0.1), (30, 2, 1)))
OTHERS = [Hit("b", -3.0), Hit("c", -4.0)]
BY_MARGIN = Calibration(intercept=0.0, coefficients=dict.fromkeys(FEATURES, 0.0) | {"margin": 1.0})


def test_what_is_looked_at() -> None:
    lead = -1 - log(exp(-3) + exp(-4))
    expected = [-1.0, 2.0, lead, log(30), 2, 0.5]
    assert features([FIRST, *OTHERS]) == pytest.approx(expected)


def test_no_second_hit_and_no_reason() -> None:
    assert features([Hit("a", -1.0)]) == pytest.approx([-1.0, FARTHEST, FARTHEST, 0.0, 0, 0.0])


def test_a_logistic_function_of_it() -> None:
    assert BY_MARGIN.confidence([FIRST, *OTHERS]) == pytest.approx(1 / (1 + exp(-2)))


def test_regression_finds_the_maximum() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    right = rng.random(300) < 1 / (1 + np.exp(-(0.5 + x @ [1.0, -2.0, 0.0])))

    def loss(beta: np.ndarray) -> float:
        z = np.where(right, 1, -1) * (beta[0] + x @ beta[1:])
        return float(np.logaddexp(0, -z).sum() + 0.5 * (beta[1:] ** 2).sum())

    expected = minimize(loss, np.zeros(4), tol=1e-10).x
    assert logistic_regression(x, right, ridge=1.0) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("all_right", [True, False])
def test_nothing_to_tell_apart(all_right: bool) -> None:
    fitted = fit_calibration(np.ones((30, len(FEATURES))), np.full(30, all_right))
    assert (fitted.confidence([FIRST]) > 0.9) == all_right


def test_coefficients_are_for_features_as_they_are() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(5.0, 3.0, size=(500, len(FEATURES)))
    right = rng.random(500) < 1 / (1 + np.exp(-2 * (x[:, 1] - 5)))
    fitted = fit_calibration(x, right, {"split": "dev"})
    assert fitted.coefficients["margin"] == pytest.approx(2.0, abs=0.5)
    assert fitted.probabilities(x).mean() == pytest.approx(right.mean(), abs=1e-4)


def test_the_first_hit_has_it_and_may_not_be_enough() -> None:
    found = [[FIRST, *OTHERS], [], [OTHERS[0], OTHERS[1]]]
    shown = sure_enough(found, 2, BY_MARGIN, None)
    assert [len(hits) for hits in shown] == [2, 0, 2]
    assert [hit.confidence for hit in shown[0]] == [pytest.approx(0.881, abs=0.001), None]
    assert shown[2][0].confidence == pytest.approx(0.731, abs=0.001)
    assert [len(hits) for hits in sure_enough(found, 2, BY_MARGIN, 0.8)] == [2, 0, 0]


def test_without_calibration() -> None:
    assert sure_enough([[FIRST, *OTHERS]], 1, None, None) == [[FIRST]]
    with pytest.raises(ConfigError, match=r"never calibrated; .* tsgen calibrate"):
        sure_enough([[FIRST]], 1, None, 0.5)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_engine(tmp_path_factory.mktemp("confidence") / "engine")


def test_engines_keep_it(engine: Path, tmp_path: Path) -> None:
    before = Engine.load(engine).search([QUERY], k=2)
    assert [hit.confidence for hit in before[0]] == [None, None]
    BY_MARGIN.save(engine)
    opened = Engine.load(engine)
    (hits,) = opened.search([QUERY], k=1)
    assert [hit.document_id for hit in hits] == [before[0][0].document_id]
    margin = before[0][0].score - before[0][1].score  # the second hit counts, though k is 1
    assert hits[0].confidence == pytest.approx(1 / (1 + exp(-min(margin, FARTHEST))))
    assert opened.search([QUERY], k=1, min_confidence=1.0) == [[]]
    (tmp_path / "copy").mkdir()
    opened.save(tmp_path / "copy")
    assert Engine.load(tmp_path / "copy").search([QUERY], k=1) == [hits]
    with Engine.load(engine) as collection:
        assert collection.search([QUERY], k=1, min_confidence=0.0) == [hits]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "tsgen calibrate"),
        ('{"intercept": 0, "coefficients": {"x": 1}}', "checksum is another"),
    ],
)
def test_a_damaged_file(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "confidence.json").write_text(content)
    with pytest.raises(ArtifactError, match=message):
        Calibration.load(tmp_path)
