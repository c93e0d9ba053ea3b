"""`tsgen queries`, and `tsgen fit` that makes its own queries."""

import json
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fitted import settings, write_bert, write_foods
from running import finish, start
from toy import write_beir
from tsgen.cli.main import app


def run(*arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(app, [*arguments, "--json", "-"])
    assert result.exit_code == 0, result.output
    figures: dict[str, object] = json.loads(result.stdout)
    return figures


def test_a_file_and_its_counts(tmp_path: Path) -> None:
    data = write_foods(tmp_path / "foods", "test")
    out, cache = tmp_path / "queries.jsonl", ("--cache", str(tmp_path / "cache"))
    counts = run("queries", str(data), "--out", str(out), "-n", "4", "--keep-top", "2", *cache)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert counts["documents"] == 20
    assert counts["kept"] == len(lines) > 20
    assert counts["written"] == counts["duplicates"] + counts["filtered"] + counts["kept"]
    assert {line["document"] for line in lines} <= {f"d{i}" for i in range(20)}


def test_an_unknown_writer_prints_the_nearest(tmp_path: Path) -> None:
    data = write_foods(tmp_path / "foods", "test")
    assert finish(tmp_path, "queries", str(data), "--out", "x.jsonl", "--writer", "lokal") == 1
    message = " ".join((tmp_path / "stderr").read_text().split())
    assert "unknown writer 'lokal'; did you mean 'local'?" in message


def test_killed_it_ends_in_the_same_file(tmp_path: Path) -> None:
    documents = {f"d{n}": f"Word{n} is a word. Number {n} of word{n // 2}." for n in range(1000)}
    data = write_beir(tmp_path / "words", documents, {"q": "x"}, test=[("q", "d0")])

    def arguments(work: Path) -> tuple[Path, str, str, str, str, str, str, str, str]:
        places = "--out", str(work / "out.jsonl"), "--cache", str(work / "cache")
        return work, "queries", str(data), *places, "--keep-top", "5"

    assert finish(*arguments(tmp_path / "undisturbed")) == 0
    work = tmp_path / "killed"
    for stage in ("written-queries", "queries"):
        process = start(*arguments(work))
        while process.is_alive() and not list(work.glob(f"cache/*/.{stage}-*/piece-000002.jsonl")):
            process.join(0.001)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert not (work / "out.jsonl").exists()
    assert finish(*arguments(work)) == 0
    expected = (tmp_path / "undisturbed" / "out.jsonl").read_bytes()
    assert (work / "out.jsonl").read_bytes() == expected


@pytest.fixture
def fit(tmp_path: Path) -> list[str]:
    """A set without training judgments."""
    data, bert = write_foods(tmp_path / "foods", "dev"), write_bert(tmp_path / "bert")
    flags = [part for one in settings(bert, epochs=2) for part in ("--set", one)]
    places = ["--out", str(tmp_path / "engine"), "--cache", str(tmp_path / "cache")]
    return ["fit", str(data), *places, "--preset", "tiny", *flags]


def test_fit_makes_the_queries(fit: list[str], tmp_path: Path) -> None:
    wanted = ["--set", "queries.writer=extractive", "--set", "queries.n=3"]
    assert run(*fit, *wanted)["rows"]
    (made,) = tmp_path.glob("cache/*/queries-*/queries.jsonl")
    queries = len(made.read_text().splitlines())
    (first, _) = sorted(tmp_path.glob("cache/*/iteration-*/figures.json"))
    assert json.loads(first.read_text())["pairs"] == queries


def test_a_file_and_a_writer_are_one_too_many(fit: list[str], tmp_path: Path) -> None:
    (tmp_path / "file.jsonl").write_text('{"query": "bread", "document": "d0"}\n')
    more = ["--queries", str(tmp_path / "file.jsonl"), "--set", "queries.writer=extractive"]
    assert finish(tmp_path, *fit, *more) == 1
    assert "queries.writer=none" in (tmp_path / "stderr").read_text()
