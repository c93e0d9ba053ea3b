"""`tsgen serve` on a real engine: searched, changed, ended."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from fitted import FOODS, TASTES, write_bert
from running import start
from tsgen.cli.main import app
from tsgen.model.mini import Mini
from tsgen.settings import MiniConfig

AUTHORIZED = {"Authorization": "Bearer secret"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of six short notes."""
    folder = tmp_path_factory.mktemp("serve")
    (folder / "notes").mkdir()
    for food, taste in zip(FOODS[:6], TASTES, strict=False):
        (folder / "notes" / f"{food}.md").write_text(f"# {taste} {food}\n\nIt is {taste}.\n")
    write_bert(folder / "bert")
    config = MiniConfig(encoder=str(folder / "bert"), encoder_layers=1, heads=4, inner=64)
    Mini.create(config, ["tea"]).save(folder / "model")
    made = ["--model", str(folder / "model"), "--out", str(folder / "engine")]
    command = ["index", str(folder / "notes"), *made, "--cache", str(folder / "cache")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    return folder / "engine"


def logged(work: Path) -> list[dict[str, Any]]:
    """The complete lines of the log so far."""
    path = work / "stderr"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def test_from_start_to_end(engine: Path, tmp_path: Path) -> None:
    process = start(tmp_path, "serve", str(engine), "--port", "0", "--token", "secret")
    while not logged(tmp_path):
        assert process.is_alive()
        time.sleep(0.02)
    listening = logged(tmp_path)[0]
    assert (listening["documents"], listening["writes"]) == (6, True)
    with httpx2.Client(base_url=listening["address"], timeout=60) as http:
        rye = {"text": "rye is dark", "metadata": {"year": 2020}}
        assert http.put("/documents/rye.md", json=rye, headers=AUTHORIZED).status_code == 201
        asked = {"queries": ["dark rye", "sweet milk"], "k": 7, "beam": 50, "explain": True}
        rye_hits, milk_hits = http.post("/search", json=asked).json()["results"]
        assert {hit["document"] for hit in rye_hits["hits"]} >= {"rye.md", "milk.md"}
        assert "milk" in next(
            hit["reason"]["terms"] for hit in milk_hits["hits"] if hit["document"] == "milk.md"
        )
        only = http.post("/search", json={"query": "milk", "where": "year >= 2020"}).json()
        assert [hit["document"] for hit in only["results"][0]["hits"]] == ["rye.md"]
        assert http.post("/search", json={"query": "milk", "where": "year >="}).status_code == 422
        assert http.delete("/documents/rye.md", headers=AUTHORIZED).status_code == 200
        assert http.get("/ready").json()["documents"] == 6
    assert process.pid
    os.kill(process.pid, signal.SIGTERM)
    process.join()
    assert process.exitcode == 0
    lines = logged(tmp_path)
    assert lines[-1]["event"] == "ended"
    assert not [line for line in lines if line["level"] == "error"]
    assert "dark" not in (tmp_path / "stderr").read_text()


def test_a_warning_where_others_can_reach_it(engine: Path, tmp_path: Path) -> None:
    options = ["--host", "0.0.0.0", "--port", "0", "--token", "secret"]
    process = start(tmp_path, "serve", str(engine), *options)
    while len(logged(tmp_path)) < 2:
        assert process.is_alive()
        time.sleep(0.02)
    process.kill()
    process.join()
    assert [line["level"] for line in logged(tmp_path)[:2]] == ["info", "warning"]
    assert "can read all documents" in logged(tmp_path)[1]["advice"]


def test_limits_and_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(app, ["serve", str(tmp_path), "--limit", "beams=3"])
    assert "did you mean 'beam'" in str(result.exception)
    result = CliRunner().invoke(app, ["serve", str(tmp_path), "--limit", "k=0"])
    assert "k = 0" in str(result.exception)
    monkeypatch.setitem(sys.modules, "tsgen.serve.server", None)
    result = CliRunner().invoke(app, ["serve", str(tmp_path)])
    assert "pip install 'tsgen-ir[serve]'" in str(result.exception)
