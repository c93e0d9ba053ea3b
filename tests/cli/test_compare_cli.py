"""`tsgen compare` from outside: what it prints and writes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from toy import write_beir
from tsgen.cli.main import app
from tsgen.corpus.runs import read_trec
from tsgen.errors import ConfigError, DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = {"d1": "a white cat", "d2": "a black cat cat", "d3": "a cow"}
    queries = {"q1": "white cats", "q2": "black cats", "q3": "cats", "t1": "a cow"}
    test = [("q1", "d1"), ("q2", "d2"), ("q3", "d1")]
    folder = write_beir(tmp_path / "cats", documents, queries, train=[("t1", "d2")], test=test)
    (folder / "other").mkdir()
    (folder / "other" / "test.tsv").write_text("q1\td1\t1\n")
    return folder


def compare(folder: Path, *options: str) -> Result:
    cache = str(folder.parent / "cache")
    arguments = ["compare", str(folder), "--cache", cache, *options]
    return CliRunner().invoke(app, arguments)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("│") if cell.strip()]


def test_prints_the_table(folder: Path) -> None:
    result = compare(folder)
    assert result.exit_code == 0
    rows = [cells(line) for line in result.stdout.splitlines() if line.startswith("│")]
    # q3's only relevant document comes second: 1, 1 and 1/2 average to 5/6.
    assert rows[0][:5] == ["bm25", "all", "3", ".833", ".833"]
    assert rows[1][:4] == ["bm25", "seen", "1", "1.000"]
    assert rows[2][:4] == ["bm25", "unseen", "2", ".750"]
    assert result.stdout.startswith("cats, qrels, test")


def test_settings_change_the_ranking(folder: Path) -> None:
    saturated = compare(folder, "--set", "bm25.k1=0", "--json", "-")
    assert json.loads(saturated.stdout)["rows"][0]["values"]["M@10"] == 1.0


def test_settings_from_a_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("[bm25]\nk1 = 0\n")
    result = compare(folder, "--config", str(tmp_path / "settings.toml"), "--json", "-")
    assert json.loads(result.stdout)["rows"][0]["values"]["M@10"] == 1.0


def test_other_judgments_and_fewer_queries(folder: Path) -> None:
    result = compare(folder, "--qrels", "other", "--json", "-")
    assert json.loads(result.stdout)["rows"][0]["values"]["n"] == 1
    limited = json.loads(compare(folder, "--limit", "2", "--json", "-").stdout)
    assert limited["rows"][0]["values"]["n"] == 2


def test_json_and_run_files(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "figures.json"
    result = compare(folder, "--json", str(target), "--runs", str(tmp_path / "runs"))
    assert "bm25" in result.stdout
    assert json.loads(target.read_text())["rows"][0]["values"]["R@1"] == pytest.approx(2 / 3)
    hits = read_trec(tmp_path / "runs" / "bm25.trec")["q3"]
    assert [hit.document_id for hit in hits] == ["d2", "d1"]


def test_cache_from_the_environment(folder: Path, tmp_path: Path) -> None:
    runner = CliRunner(env={"TSGEN_CACHE": str(tmp_path / "elsewhere")})
    assert runner.invoke(app, ["compare", str(folder)]).exit_code == 0
    assert list((tmp_path / "elsewhere").rglob("manifest.json"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--systems", "bm25,bm52"], "unknown system 'bm52'; did you mean 'bm25'"),
        (["--systems", " ,"], "no systems to compare"),
        (["--set", "bm25.stemer=x"], "bm25: unknown setting 'stemer'; did you mean 'stemmer'"),
        (["--set", "k1=1"], "'k1=1': expected section.key=value"),
        (["--config", "absent.toml"], "absent.toml: No such file"),
    ],
)
def test_mistakes_name_the_nearest(folder: Path, options: list[str], message: str) -> None:
    result = compare(folder, *options)
    assert isinstance(result.exception, ConfigError)
    assert message in str(result.exception)
    assert not (folder.parent / "cache").exists()


def test_bad_records_stop_or_are_counted(folder: Path) -> None:
    with (folder / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "d1", "text": "again"}\n')
    assert isinstance(compare(folder).exception, DataError)
    assert not (folder.parent / "cache").exists()
    result = compare(folder, "--skip-bad")
    assert result.exit_code == 0
    assert "skipped 1 bad records: duplicate id 1" in result.stderr


def test_table_files(folder: Path, tmp_path: Path) -> None:
    for suffix, mark in ((".md", "| bm25 "), (".tex", "\\toprule")):
        target = tmp_path / f"table{suffix}"
        assert compare(folder, "--table", str(target)).exit_code == 0
        assert mark in target.read_text()
    refused = compare(folder, "--table", str(tmp_path / "table.doc"))
    assert refused.exit_code == 2
    assert "ends in .md or .tex" in refused.output


def test_json_says_how_it_was_made(folder: Path) -> None:
    figures = json.loads(compare(folder, "--seed", "3", "--json", "-").stdout)
    assert figures["seeds"] == [3]
    assert figures["settings"]["bm25"]["k1"] == 1.5


def test_seen_unseen_and_efficiency_are_tables_of_their_own(folder: Path, tmp_path: Path) -> None:
    target, page = tmp_path / "figures.json", tmp_path / "page.md"
    options = ["--seen-unseen", "--efficiency", "--minutes", "1"]
    result = compare(folder, *options, "--json", str(target), "--table", str(page))
    assert result.exit_code == 0, result.output
    figures = json.loads(target.read_text())
    assert figures["seen_unseen"]["rows"][0]["values"]["seen M@10"] == 1.0
    assert figures["efficiency"]["rows"][0]["values"]["×, beam 100"] == 1.0
    assert figures["minutes"] == {"bm25": None}
    headers = [line for line in page.read_text().splitlines() if line.startswith("| system")]
    assert len(headers) == 3
    assert "unseen R@10" in result.stdout
    assert "ms, beam 10" in result.stdout
