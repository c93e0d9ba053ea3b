"""`tsgen fit` with other backbones than `mini`, and with such as nobody can load."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fitted import FOODS, TASTES, write_foods
from tiny import Tiny
from tsgen.cli.main import app


@pytest.fixture(scope="module")
def foods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_foods(tmp_path_factory.mktemp("foods") / "set", "train", "dev", "test")


def arguments(foods: Path, work: Path, *settings: str) -> list[str]:
    given = ["terms.weights=tfidf", "terms.n=4", "train.batch_size=20", *settings]
    flags = [part for one in given for part in ("--set", one)]
    places = ["--out", str(work / "engine"), "--cache", str(work / "cache")]
    return ["fit", str(foods), *places, "--preset", "tiny", *flags]


@pytest.mark.parametrize("spelling", ["word", "subword"])
def test_a_causal_language_model_from_a_folder(foods: Path, tmp_path: Path, spelling: str) -> None:
    Tiny([*FOODS, *TASTES, "what", "is"]).llama().save(tmp_path / "llama")
    settings = [
        f"model.backbone={tmp_path / 'llama'}",
        f"model.spelling={spelling}",
        "train.epochs=60",
        "train.learning_rate=1e-2",
        "train.encoder_learning_rate=1e-2",
        "train.freeze_embeddings=false",
    ]
    result = CliRunner().invoke(app, arguments(foods, tmp_path, *settings))
    assert result.exit_code == 0, result.output
    command = ["search", str(tmp_path / "engine"), "what is sour rice", "-k", "1", "--json", "-"]
    found = json.loads(CliRunner().invoke(app, command).stdout)
    assert found[0]["hits"][0]["document"] == "d3"


def test_no_hub_for_a_name(foods: Path, tmp_path: Path) -> None:
    code = "from tsgen.cli.main import run; run()"
    command = [sys.executable, "-c", code, *arguments(foods, tmp_path, "model.backbone=no/such")]
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")}
    result = subprocess.run(command, env=offline, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    message = " ".join(result.stderr.split())
    assert "cannot load the backbone 'no/such'" in message
    assert "pip install 'tsgen-ir[flan-t5]'" in message
    assert "Traceback" not in message
    assert not list((tmp_path / "cache").glob("terms-*"))  # known before any work
    assert not (tmp_path / "engine").exists()
