"""experiments/scores.py: the parts of a score, and what they rank."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture(scope="module")
def scores() -> ModuleType:
    path = Path(__file__).parents[2] / "experiments" / "scores.py"
    spec = importlib.util.spec_from_file_location("scores", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_part_can_decide(scores: ModuleType) -> None:
    generated, meant = np.array([0.0, -1.0, -3.0]), np.array([-2.0, -1.0, -2.0])
    parts = scores.Parts(
        generated, meant, np.array([0.0, 0.0, 4.0]), np.array([False, False, True])
    )
    assert parts.reciprocal_rank(0, 0) == pytest.approx(1 / 3)
    assert parts.reciprocal_rank(0, 0.6) == pytest.approx(1 / 2)
    assert parts.reciprocal_rank(0, 1) == 1
    assert parts.reciprocal_rank(9, 1) == pytest.approx(1 / 2)
