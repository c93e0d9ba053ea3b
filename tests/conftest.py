"""Fixtures that every test may use."""

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the real benchmarks, or a skip where a clone stands alone."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"needs the benchmark data in {SHARED_DATA}")
    return SHARED_DATA
