"""`tsgen pruned`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from small_engine import TEXTS, write_small_engine
from toy import write_beir
from tsgen.cli.main import app

QUERY = "bread flour oven"


@pytest.fixture
def places(tmp_path: Path) -> tuple[str, str]:
    """A data set and an engine for it."""
    queries = {"q1": QUERY, "q2": "green tea cup"}
    judged = [("q1", "bread/rye.md"), ("q1", "soup/onion.md"), ("q2", "drinks/tea.md")]
    data = write_beir(tmp_path / "food", TEXTS, queries, test=judged)
    return str(data), str(write_small_engine(tmp_path / "engine"))


def test_one_query(places: tuple[str, str], tmp_path: Path) -> None:
    data, engine = places
    out = tmp_path / "stories.json"
    arguments = ["pruned", data, QUERY, "--engine", engine, "--beam", "1", "--json", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    stories = json.loads(out.read_text())
    assert [story["document"] for story in stories] == ["bread/rye.md"] * 2
    for story in stories:
        fate = f"at rank {story['rank']}" if story["rank"] else f"step {story['fall']['step']}"
        assert f"{story['scheme']}: bread/rye.md is" in result.stdout
        assert fate in result.stdout


def test_a_split(places: tuple[str, str], tmp_path: Path) -> None:
    data, engine = places
    out, table, plot = (tmp_path / name for name in ("out.json", "out.md", "out.png"))
    arguments = ["pruned", data, "--engine", engine, "--beam", "2", "--json", str(out)]
    arguments += ["--table", str(table), "--plot", str(plot)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    schemes = json.loads(out.read_text())["schemes"]
    assert [one["pairs"] for one in schemes] == [3, 3]
    assert "| term set |" in table.read_text()
    assert plot.exists()


def test_a_query_without_a_judgment(places: tuple[str, str]) -> None:
    data, engine = places
    result = CliRunner().invoke(app, ["pruned", data, "who knows", "--engine", engine])
    assert result.exit_code == 1
    assert "--document ID" in str(result.exception)


def test_a_system_without_identifiers(places: tuple[str, str], tmp_path: Path) -> None:
    data, _ = places
    arguments = ["pruned", data, "--systems", "bm25", "--cache", str(tmp_path / "cache")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "'bm25' generates no identifiers" in str(result.exception)
