"""The demo on a part of the standard library, small enough to fit in seconds."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tsgen.cli.main import app
from tsgen.corpus import stdlib
from tsgen.corpus.load import load
from tsgen.evaluate.demo import SEARCHES, SPLIT, SYSTEMS
from tsgen.retrieve.engine import Engine

QUESTIONS = [
    {"query": "merge two sorted lists", "documents": ["heapq.merge"]},
    {"query": "five most frequent words in a book", "documents": ["gone.in.this.python"]},
    {"query": "smallest numbers", "documents": ["heapq.nsmallest", "heapq.fastest"]},
]
TRAINING = [
    {"query": "join sorted inputs", "documents": ["heapq.merge"]},
    {"query": "where to insert a number", "documents": ["bisect.bisect_left"]},
]


@pytest.fixture
def heaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A standard library of two modules, with three questions and two to train on."""
    documents = tuple(
        each for each in stdlib.stdlib_documents() if each.metadata["module"] in ("heapq", "bisect")
    )
    (tmp_path / "questions").mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in QUESTIONS)
    (tmp_path / "questions" / "test.jsonl").write_text(lines)
    lines = "".join(json.dumps(row) + "\n" for row in TRAINING)
    (tmp_path / "questions" / "train.jsonl").write_text(lines)
    monkeypatch.setattr(stdlib, "stdlib_documents", lambda: documents)
    monkeypatch.setattr(stdlib, "QUESTIONS", tmp_path / "questions")
    monkeypatch.setenv("TSGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "questions"


def test_table_and_searches(heaps: Path, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    options = ["--out", str(out), "--json", "-"]
    result = CliRunner().invoke(app, ["demo", *options])
    assert result.exit_code == 0, result.output
    said, found = result.stderr, json.loads(result.stdout)
    assert "2, written by hand" in said
    assert "tsgen learns the documents alone" in said
    assert "Left out 2 answers unknown to this Python: gone.in.this.python" in said
    for words in ("bm25", "tsgen", "M@10", "merge two sorted lists", " › "):
        assert words in said
    assert {row["system"] for row in found["rows"]} == set(SYSTEMS)
    assert found["missing"] == ["gone.in.this.python", "heapq.fastest"]
    (search,) = found["searches"]
    assert (search["query"], search["answers"]) == ("merge two sorted lists", ["heapq.merge"])
    first = search["hits"][0]
    engine = Engine.load(out / "engine")
    number = engine.documents.number(first["document_id"])
    assert number is not None
    assert set(first["reason"]["terms"]) <= set(engine.sets.term_set(number).terms)
    assert {"merge", "sorted"} & set(first["reason"]["terms"])


def test_the_searches_are_among_the_questions() -> None:
    data = load("stdlib:")
    asked = {data.queries()[id].text for id in data.judgments(SPLIT)}
    assert set(SEARCHES) <= asked
