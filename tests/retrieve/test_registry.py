"""Systems are found by name, and their files imported only when asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

from tsgen.artifact import stage
from tsgen.config import StageConfig
from tsgen.errors import ArtifactError, ConfigError
from tsgen.retrieve.systems import SYSTEMS, System, open_retriever


def test_files_of_the_folder_are_systems() -> None:
    assert "bm25" in SYSTEMS.names()
    assert SYSTEMS.get("bm25").name == "bm25"


def test_typo_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"unknown system 'bm52'; did you mean 'bm25'\? known: "):
        SYSTEMS.get("bm52")


def test_listing_imports_no_system() -> None:
    code = """
import sys
from tsgen.retrieve.systems import SYSTEMS
assert "bm25" in SYSTEMS.names()
loaded = {"bm25s", "torch", "tsgen.baselines.bm25"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)


class Nothing(StageConfig):
    pass


def test_saved_retriever_is_opened_by_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    toy = System("toy", Nothing, lambda *_: None, opened.append)
    monkeypatch.setitem(SYSTEMS._entries, "toy", toy)
    stage(tmp_path / "toy", lambda folder: None, kind="toy", config=Nothing(), inputs={})
    open_retriever(tmp_path / "toy")
    assert opened == [tmp_path / "toy"]


def test_folder_that_is_no_retriever(tmp_path: Path) -> None:
    stage(tmp_path / "run", lambda folder: None, kind="run", config=Nothing(), inputs={})
    with pytest.raises(ArtifactError, match="run: holds 'run', not a retriever; known: "):
        open_retriever(tmp_path / "run")
    with pytest.raises(ArtifactError, match="no manifest"):
        open_retriever(tmp_path / "absent")
