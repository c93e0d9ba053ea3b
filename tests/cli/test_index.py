"""From a folder of Markdown files to a search result; killed and started again, the same."""

import json
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fitted import FOODS, TASTES, write_bert
from running import finish
from tsgen.artifact import open_artifact
from tsgen.cli.main import app
from tsgen.model.mini import Mini
from tsgen.settings import MiniConfig

MOMENTS = ["*/.terms-*.partial/*.npz", "*/.engine.*.partial/model/*", "*/engine"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Markdown files, a generator, and an engine of them."""
    folder = tmp_path_factory.mktemp("index")
    (folder / "notes" / "foods").mkdir(parents=True)
    for food, taste in zip(FOODS[:6], TASTES, strict=False):
        text = f"---\ntitle: {taste} {food}\n---\nIt is [{taste}](x.md).\n"
        (folder / "notes" / "foods" / f"{food}.md").write_text(text)
    write_bert(folder / "bert")
    config = MiniConfig(encoder=str(folder / "bert"), encoder_layers=1, heads=4, inner=64)
    Mini.create(config, ["tea"]).save(folder / "model")
    figures = json.loads(run(*arguments(folder, folder), "--json", "-"))
    assert figures == {"engine": str(folder / "engine"), "documents": 6, "vocabulary": 12}
    return folder


def arguments(folder: Path, work: Path) -> list[str]:
    places = ["--out", str(work / "engine"), "--cache", str(work / "cache")]
    return ["index", str(folder / "notes"), "--model", str(folder / "model"), *places]


def run(*command: str) -> str:
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_search_and_explain(folder: Path) -> None:
    engine = str(folder / "engine")
    shown = run("search", engine, "sweet milk", "-k", "6")
    assert "sweet milk" in shown
    assert "foods/milk.md" in shown
    assert "It is sweet." in shown
    assert "milk" in run("explain", engine, "foods/milk.md", "sweet milk")


def test_search_says_what_it_read_instead_of_a_misspelt_word(folder: Path) -> None:
    engine = str(folder / "engine")
    shown = run("search", engine, "swete mlik?")
    assert "searched for “sweet, milk” instead of “swete, mlik”" in shown
    assert "“milk” instead of “mlik”" in run("explain", engine, "foods/milk.md", "sweet mlik")
    assert "“milk” instead of “mlik”" in run("why", engine, "sweet mlik", "foods/milk.md")
    assert "instead of" not in run("search", engine, "isn't sweet milk retraining?")
    (found,) = json.loads(run("search", engine, "swete mlik?", "--json", "-"))
    assert (found["query"], found["read_as"]) == ("swete mlik?", "sweet milk?")


def test_evaluate(folder: Path) -> None:
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "sweet milk"}\n')
    (folder / "test.qrels").write_text("q1\tfoods/milk.md\t1\n")
    files = 'documents = "notes"\nqueries = ["queries.jsonl"]\n'
    (folder / "set.toml").write_text(f'{files}[judgments]\ntest = "test.qrels"\n')
    found = run("evaluate", str(folder / "engine"), str(folder / "set.toml"), "--json", "-")
    assert json.loads(found)["rows"]


def test_killed_at_every_moment(folder: Path, tmp_path: Path) -> None:
    for moment in MOMENTS:
        exit_code = finish(tmp_path, *arguments(folder, tmp_path), kill_at=moment)
        assert exit_code == -signal.SIGKILL, moment
    assert finish(tmp_path, *arguments(folder, tmp_path)) == 0, (tmp_path / "stderr").read_text()
    open_artifact(tmp_path / "engine")
    for path in (folder / "engine").rglob("*"):
        if path.is_file():
            same = tmp_path / path.relative_to(folder)
            assert same.read_bytes() == path.read_bytes(), path.name


def test_bad_files_are_told_or_skipped(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "egg.md").write_text("an egg")
    (tmp_path / "notes" / "old.md").write_bytes(b"caf\xe9")
    (tmp_path / "model").symlink_to(folder / "model")
    result = CliRunner().invoke(app, arguments(tmp_path, tmp_path))
    assert result.exit_code == 1
    assert "old.md:1: after 'caf' comes 0xe9" in str(result.exception)
    assert not (tmp_path / "engine").exists()
    result = CliRunner().invoke(app, [*arguments(tmp_path, tmp_path), "--skip-bad"])
    assert result.exit_code == 0, result.output
    assert "skipped 1 bad records" in result.stderr
    assert "1 documents, 1 terms." in result.stdout


def test_settings(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[terms]\nn = 1\n[decode]\nbeam = 7\n")
    options = ["--config", str(tmp_path / "mine.toml"), "--set", "decode.batch=2"]
    run(*arguments(folder, tmp_path), *options)
    settings = json.loads((tmp_path / "engine" / "settings.json").read_text())
    decode = settings["decode"]
    assert (settings["terms"]["n"], decode["beam"], decode["batch"]) == (1, 7, 2)
    result = CliRunner().invoke(app, [*arguments(folder, tmp_path), "--set", "decod.beam=2"])
    assert "did you mean 'decode'" in str(result.exception)
