"""`tsgen evaluate` on a run file and on a saved retriever."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import pytest

from tsgen.artifact import stage
from tsgen.cli.main import run as run_command
from tsgen.config import StageConfig
from tsgen.corpus.load import load
from tsgen.errors import DataError
from tsgen.evaluate.evaluation import evaluate_source
from tsgen.progress import reporting
from tsgen.records import Hit
from tsgen.retrieve.systems import SYSTEMS, System

TRAIN = "query-id\tcorpus-id\tscore\nt1\td1\t1\n"
TEST = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\nq3\td3\t1\n"
RUN = "q1 Q0 d1 1 9 t\nq2 Q0 d1 1 9 t\nq2 Q0 d2 2 8 t\nextra Q0 d1 1 9 t\n"


class Fixed:
    """A retriever that answers every query with d1, d2."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [[Hit("d1", 2.0), Hit("d2", 1.0)][:k] for _ in queries]

    def save(self, folder: Path) -> None:
        (folder / "fixed.txt").write_text("d1 d2")

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    texts = {"_id": "d1", "text": "one"}, {"_id": "d2", "text": "two"}, {"_id": "d3", "text": "3"}
    (folder / "corpus.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    queries = [{"_id": id, "text": f"what is {id}"} for id in ("t1", "q1", "q2", "q3", "extra")]
    (folder / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    (folder / "qrels" / "train.tsv").write_text(TRAIN)
    (folder / "qrels" / "test.tsv").write_text(TEST)
    return folder


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "my.trec"
    path.write_text(RUN)
    return path


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fixed = System("fixed", StageConfig, lambda *_: None, Fixed.load)
    monkeypatch.setitem(SYSTEMS._entries, "fixed", fixed)
    folder = tmp_path / "engine"
    stage(folder, Fixed().save, kind="fixed", config=StageConfig(), inputs={})
    return folder


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run `tsgen …`: exit code, stdout, stderr."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tsgen", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            run_command()
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return call


def test_a_run_file_all_seen_unseen(data: Path, run_file: Path) -> None:
    table = evaluate_source(run_file, load(data))
    rows = {row.group: row.values for row in table.rows}
    # n, M@10, M@100, R@1, …: q1 at rank 1 (seen), q2 at rank 2, q3 without hits (unseen)
    assert {group: values[0] for group, values in rows.items()} == {
        "all": 3,
        "seen": 1,
        "unseen": 2,
    }
    assert [rows[group][1] for group in rows] == pytest.approx([1.5 / 3, 1.0, 0.5 / 2])
    assert {row.label for row in table.rows} == {"my.trec"}
    assert table.notes["without hits"].startswith("1 queries")
    assert table.notes["not judged"].startswith("1 queries")


def test_a_saved_retriever(data: Path, engine: Path) -> None:
    seen: list[tuple[str, int, int | None, str]] = []
    with reporting(lambda *step: seen.append(step)):
        table = evaluate_source(engine, load(data))
    assert table.rows[0].values[1] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert seen[-1] == ("engine: queries", 3, 3, "")
    assert "without hits" not in table.notes


def test_limit_takes_some_of_the_judged_queries(data: Path, engine: Path, run_file: Path) -> None:
    for source in (engine, run_file):
        table = evaluate_source(source, load(data), limit=1)
        assert table.rows[0].values[:2] == [1, pytest.approx(1.0)]
    assert table.notes["not judged"].startswith("1 queries")  # not those beyond the limit


def test_without_training_judgments_there_is_one_row(data: Path, run_file: Path) -> None:
    (data / "qrels" / "train.tsv").unlink()
    assert [row.group for row in evaluate_source(run_file, load(data)).rows] == [""]


def test_documents_of_another_data_set_are_an_error(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.trec"
    path.write_text("q1 Q0 w7 1 9 t\n")
    with pytest.raises(DataError, match=r"none of its documents \('w7', for one\) is in tiny"):
        evaluate_source(path, load(data))


def test_a_run_that_finds_nothing_relevant_scores_zero(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "poor.trec"
    path.write_text("q1 Q0 d3 1 9 t\n")
    assert evaluate_source(path, load(data)).rows[0].values[1] == 0.0


def test_command_prints_the_table_and_writes_json(
    data: Path, run_file: Path, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, _ = command("evaluate", run_file, data, "--json", tmp_path / "figures.json")
    assert code == 0
    assert "tiny, qrels, test" in out
    assert "1.000" in out
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["rows"][2]["queries"] == "unseen"
    assert figures["rows"][2]["values"]["M@10"] == 0.25


def test_command_writes_only_json_to_stdout_when_asked(
    data: Path, run_file: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, _ = command("evaluate", run_file, data, "--json", "-")
    assert code == 0
    assert json.loads(out)["rows"][0]["values"]["n"] == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 Q0 d1 1 high t\n", "my.trec:1: "),
        ("z Q0 d1 1 9 t\n", "none of the run's 1 queries"),
        ("", "holds no hits"),
        (None, "no such file or folder"),
    ],
)
def test_command_fails_with_one_message(
    data: Path,
    run_file: Path,
    command: Callable[..., tuple[int, str, str]],
    text: str | None,
    message: str,
) -> None:
    if text is None:
        run_file.unlink()
    else:
        run_file.write_text(text)
    code, out, error = command("evaluate", run_file, data)
    assert (code, out) == (1, "")
    assert message in error
    assert "Traceback" not in error
