import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tsgen.artifact import MANIFEST, reseal
from tsgen.cli.main import app


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "bread.jsonl"
    file.write_text('{"_id": "d1", "text": "white bread"}\n{"_id": "d2", "text": "rye bread"}\n')
    return file


def terms(data: Path, *options: str) -> dict[str, int]:
    command = ["terms", str(data), "--weights", "tfidf", *options, "--json", "-"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    figures: dict[str, int] = json.loads(result.stdout)
    return figures


def test_term_sets_are_made_and_pass_the_audit(data: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "out", tmp_path / "plot.png"
    facts = terms(data, "--out", str(out), "--n", "auto")
    assert facts == {"documents": 2, "n": 1, "vocabulary": 2, "moved": 0, "duplicates": 0}
    result = CliRunner().invoke(app, ["inspect", str(out), "--json", "-", "--plot", str(plot)])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["unreachable"] == 0
    assert plot.stat().st_size > 1000


def test_the_audit_is_a_table_too(data: Path, tmp_path: Path) -> None:
    terms(data, "--out", str(tmp_path / "out"))
    result = CliRunner().invoke(app, ["inspect", str(tmp_path / "out")])
    for words in ("documents", "tfidf, 48", "unreachable", "bread 2", "tokens a term"):
        assert words in result.stdout


def test_flags_come_before_the_settings_file(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[terms]\nn = 7\nwords = {stem = "none"}\n[tfidf]\nk1 = 1.0\n')
    assert terms(data, "--out", str(tmp_path / "a"), "--config", str(file))["n"] == 7
    assert terms(data, "--out", str(tmp_path / "b"), "--config", str(file), "--n", "2")["n"] == 2
    config = json.loads((tmp_path / "b" / MANIFEST).read_text())["config"]
    assert config["words"]["stem"] == "none"
    assert config["options"]["k1"] == 1.0


def test_an_unreachable_document_fails_the_audit(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    terms(data, "--out", str(out))
    np.save(out / "doc_first.npy", np.array([0, 0], np.int32))
    reseal(out)
    result = CliRunner().invoke(app, ["inspect", str(out)])
    assert result.exit_code == 1
    assert "1 (e.g. d2)" in result.stdout
