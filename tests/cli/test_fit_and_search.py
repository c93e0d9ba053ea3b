"""`tsgen fit` and `tsgen search`; killed and started again, fit ends in the same engine."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fitted import settings, write_bert, write_foods
from tsgen.cli.main import app


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set and an engine."""
    folder = tmp_path_factory.mktemp("fit")
    write_foods(folder / "set", "train", "dev", "test")
    write_bert(folder / "bert")
    figures = fit(folder, folder)
    assert figures["rows"]
    return folder


def arguments(folder: Path, work: Path) -> list[str]:
    flags = [part for one in settings(folder / "bert") for part in ("--set", one)]
    places = ["--out", str(work / "engine"), "--cache", str(work / "cache")]
    return ["fit", str(folder / "set"), *places, "--preset", "tiny", *flags]


def fit(folder: Path, work: Path) -> dict[str, object]:
    result = CliRunner().invoke(app, [*arguments(folder, work), "--json", "-"])
    assert result.exit_code == 0, result.output
    figures: dict[str, object] = json.loads(result.stdout)
    return figures


def search(folder: Path, *options: str, stdin: str = "") -> str:
    result = CliRunner().invoke(app, ["search", str(folder / "engine"), *options], input=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def killed_when(there: str, folder: Path, work: Path) -> None:
    """Start `tsgen fit` as a process, kill it as soon as a file appears."""
    code = "from tsgen.cli.main import run; run()"
    process = subprocess.Popen([sys.executable, "-c", code, *arguments(folder, work)])
    while not list(work.glob(f"cache/*/{there}")):
        assert process.poll() is None, f"ended before {there} was there"
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_killed_in_both_iterations(folder: Path, tmp_path: Path) -> None:
    killed_when(".iteration-1-*.partial/checkpoint.safetensors", folder, tmp_path)
    killed_when(".iteration-2-*.partial/checkpoint.safetensors", folder, tmp_path)
    assert fit(folder, tmp_path)["rows"] == fit(folder, folder)["rows"]
    for name in ("model/model.safetensors", "training/iteration-2.jsonl", "documents.jsonl"):
        path = Path("engine") / name
        assert (tmp_path / path).read_bytes() == (folder / path).read_bytes(), name


def test_the_engine_can_be_evaluated(folder: Path) -> None:
    command = ["evaluate", str(folder / "engine"), str(folder / "set"), "--json", "-"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"]


def test_search_shows_the_permutation(folder: Path) -> None:
    shown = search(folder, "what is sour rice", "-k", "2")
    assert " 1. d3" in shown
    assert "The sour rice is a food." in shown
    (order,) = [line for line in shown.splitlines() if "rice ›" in line or "› rice" in line][:1]
    assert order.count("›") == 3
    assert "documents left" not in shown
    assert "documents left" in search(folder, "sour rice", "--explain")


def test_search_as_json_from_stdin(folder: Path) -> None:
    found = json.loads(search(folder, "-", "--json", "-", stdin="sour rice\n\nwhite bread\n"))
    assert [each["query"] for each in found] == ["sour rice", "white bread"]
    assert [each["hits"][0]["document"] for each in found] == ["d3", "d0"]
    assert len(found[0]["hits"][0]["reason"]["terms"]) == 4


def test_explain_shows_an_order_for_each_query(folder: Path) -> None:
    command = ["explain", str(folder / "engine"), "d3", "what is sour rice", "a food"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("d3\n\nwhat is sour rice\n")
    assert result.stdout.count(" › ") == 6  # four terms, twice
    assert result.stdout.count("by weight -") == 2
    result = CliRunner().invoke(app, [*command, "--json", "-"])
    first, second = json.loads(result.stdout)["queries"]
    assert sorted(first["terms"]) == sorted(second["terms"])
    assert first["log_prob"] >= first["by_weight"] - 1e-4


def test_unknown_tables_are_refused(folder: Path, tmp_path: Path) -> None:
    command = [*arguments(folder, tmp_path), "--set", "trian.epochs=1"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1
    assert "did you mean 'train'" in str(result.exception)
    assert not (tmp_path / "engine").exists()
