"""Every experiment and benchmark finds what it imports: they are run by hand, and seldom."""

import importlib.util
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((*(ROOT / "experiments").glob("*.py"), *(ROOT / "benchmarks").glob("*.py")))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_it_can_be_imported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(path.parent)
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_no_script_hides_a_module_that_a_library_looks_for() -> None:
    """Python puts a script's folder first on its path, and numba imports `coverage` if it can."""
    hidden = {*sys.stdlib_module_names, *packages_distributions(), "coverage"}
    assert [path.name for path in SCRIPTS if path.stem in hidden] == []
