import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tsgen.cli.main import app


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "set" / "qrels").mkdir(parents=True)
    (tmp_path / "set" / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "Bread [1]", "text": "white bread"}\n{"_id": "d2", "text": "rye"}\n'
    )
    (tmp_path / "set" / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "what bread"}\n{"_id": "q2", "text": "a grain"}\n'
    )
    (tmp_path / "set" / "qrels" / "train.tsv").write_text("q1\td1\t1\n")
    (tmp_path / "set" / "qrels" / "test.tsv").write_text("q1\td1\t1\nq2\td2\t1\n")
    return tmp_path / "set"


def test_prints_what_is_in_a_data_set(folder: Path) -> None:
    result = CliRunner().invoke(app, ["data", str(folder)])
    assert result.exit_code == 0
    for words in ("documents", "test", "Bread [1]", "what bread", "No problems found."):
        assert words in result.stdout


def test_writes_json_to_stdout_and_nothing_else(folder: Path) -> None:
    result = CliRunner().invoke(app, ["data", str(folder), "--json", "-"])
    report = json.loads(result.stdout)
    assert report["documents"] == 2
    assert report["splits"]["test"] == {
        "queries": 2, "judgments": 2, "relevant": 2, "seen": 1, "unseen": 1,
    }  # fmt: skip
    assert report["document_words"]["mean"] == 2.5
    assert report["document_words"]["max"] == 4
    assert [sample["document"]["id"] for sample in report["samples"]] == ["d1", "d2"]


def test_lists_all_problems_and_fails(folder: Path, tmp_path: Path) -> None:
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\nq9\td1\t1\nq1\td9\t1\n")
    target = tmp_path / "report.json"
    result = CliRunner().invoke(app, ["data", str(folder), "--json", str(target)])
    assert result.exit_code == 1
    assert "2 problems: unknown query 1, unknown document 1" in result.stdout
    assert "test.tsv:2: query 'q9' is not in" in result.stdout
    assert "test.tsv:3: document 'd9' is not in" in result.stdout
    assert json.loads(target.read_text())["problem_counts"]["unknown query"] == 1


def test_problems_may_be_skipped(folder: Path) -> None:
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\nq9\td1\t1\n")
    result = CliRunner().invoke(app, ["data", str(folder), "--skip-bad"])
    assert result.exit_code == 0
    assert "1 problems" in result.stdout


def test_takes_another_folder_of_judgments(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "dev.tsv").write_text("q2\td2\t1\n")
    result = CliRunner().invoke(app, ["data", str(folder), "--qrels", "other", "--json", "-"])
    assert list(json.loads(result.stdout)["splits"]) == ["dev"]
