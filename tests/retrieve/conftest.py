"""An engine to change, for the tests of collections."""

from pathlib import Path

import pytest

from living import DOCUMENTS, copied, write_engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_engine(tmp_path_factory.mktemp("living"), DOCUMENTS)


@pytest.fixture
def folder(engine: Path, tmp_path: Path) -> Path:
    return copied(engine, tmp_path / "engine")
