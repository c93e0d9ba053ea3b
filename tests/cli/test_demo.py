"""The demo on a part of the standard library, small enough to fit in seconds."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tsgen.cli.main import app
from tsgen.corpus import stdlib
from tsgen.corpus.load import load
from tsgen.evaluate.demo import SEARCHES, SPLIT, term_weights

QUESTIONS = [
    {"query": "merge two sorted lists", "documents": ["heapq.merge"]},
    {"query": "five most frequent words in a book", "documents": ["gone.in.this.python"]},
    {"query": "smallest numbers", "documents": ["heapq.nsmallest", "heapq.fastest"]},
]


@pytest.fixture
def heaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A standard library of two modules, with three questions; its test split's folder."""
    documents = tuple(
        each for each in stdlib.stdlib_documents() if each.metadata["module"] in ("heapq", "bisect")
    )
    (tmp_path / "questions").mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in QUESTIONS)
    (tmp_path / "questions" / "test.jsonl").write_text(lines)
    monkeypatch.setattr(stdlib, "stdlib_documents", lambda: documents)
    monkeypatch.setattr(stdlib, "QUESTIONS", tmp_path / "questions")
    monkeypatch.setenv("TSGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "questions"


def test_table_searches_and_term_sets(heaps: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo"), "--json", "-"])
    assert result.exit_code == 0, result.output
    said, found = result.stderr, json.loads(result.stdout)
    assert "learns from title → text and sentence → rest pairs" in said
    assert "Left out 2 answers unknown to this Python: gone.in.this.python" in said
    for words in ("bm25", "weigher", "M@10", "✓ heapq.merge ", "T(heapq.merge) = {merge, "):
        assert words in said
    assert [row["system"] for row in found["rows"]] == ["bm25", "weigher"]
    assert [row["values"]["n"] for row in found["rows"]] == [2, 2]
    assert found["missing"] == ["gone.in.this.python", "heapq.fastest"]
    assert [search["query"] for search in found["searches"]] == ["merge two sorted lists"]
    assert found["searches"][0]["hits"][0] == "heapq.merge"
    assert "merge" in found["searches"][0]["terms"]["terms"]
    assert (found["searcher"], found["weights"]) == ("bm25", "tfidf")


def test_learned_weights_come_with_training_questions(heaps: Path) -> None:
    assert term_weights(load("stdlib:")) == "tfidf"
    (heaps / "train.jsonl").write_text('{"query": "join", "documents": ["heapq.merge"]}\n')
    assert term_weights(load("stdlib:")) == "learned"


def test_the_searches_are_among_the_questions() -> None:
    data = load("stdlib:")
    asked = {data.queries()[id].text for id in data.judgments(SPLIT)}
    assert set(SEARCHES) <= asked
