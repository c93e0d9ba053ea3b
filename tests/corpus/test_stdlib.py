"""`stdlib:`: the objects found in this Python, and the questions about them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tsgen.corpus import stdlib, stdlib_objects
from tsgen.corpus.load import load
from tsgen.corpus.sources import SourcedDataSet
from tsgen.corpus.stdlib import QUESTIONS, missing_names, questions, stdlib_documents
from tsgen.corpus.table_files import Columns
from tsgen.errors import DataError
from tsgen.records import Document


@pytest.fixture(scope="module")
def data() -> SourcedDataSet:
    return load("stdlib:")


@pytest.fixture(scope="module")
def documents() -> dict[str, Document]:
    return {document.id: document for document in stdlib_documents()}


def test_a_corpus_of_useful_size(data: SourcedDataSet) -> None:
    found = list(data.documents())
    assert 2500 < len(found) < 5000
    assert len({document.metadata["module"] for document in found}) > 100
    assert data.name == "stdlib"
    assert data.splits == ["train", "dev", "test"][-len(data.splits) :]


def test_a_function(documents: dict[str, Document]) -> None:
    merge = documents["heapq.merge"]
    assert merge.title == "heapq.merge"
    assert merge.text.startswith("(*iterables, key=None, reverse=False)\nMerge multiple sorted")
    assert merge.metadata == {"kind": "function", "module": "heapq"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("collections.Counter.most_common", "method"),
        ("collections.OrderedDict", "class"),  # defined in C, in a private module
        ("str.split", "method"),
        ("open", "function"),  # io.open, too
        ("os.path.join", "function"),
        ("random.shuffle", "function"),  # a bound method of a hidden object
        ("pathlib.PurePath.suffix", "property"),
        ("heapq", "module"),
        ("typing.Optional", "object"),
        ("array.array", "class"),
    ],
)
def test_names_are_those_that_programs_use(
    name: str, kind: str, documents: dict[str, Document]
) -> None:
    assert documents[name].metadata["kind"] == kind


@pytest.mark.parametrize(
    "name",
    [
        "io.open",
        "random.Random.shuffle",
        "array.ArrayType",
        "asyncio.TimeoutError",  # the built-in one
        "collections.Counter.keys",  # inherited
        "threading.Thread.setName",  # deprecated
        "typing.List",  # another name for list
        "object.__init__",
        "this",
    ],
)
def test_no_second_names_nor_empty_words(name: str, documents: dict[str, Document]) -> None:
    assert name not in documents


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("collections.Counter.most_common", "collections.Counter.most_common (most common)"),
        ("http.HTTPStatus", "http.HTTPStatus (HTTP Status)"),
        ("str.split", "str.split"),
    ],
)
def test_a_compound_name_is_also_there_as_words(
    name: str, title: str, documents: dict[str, Document]
) -> None:
    assert documents[name].title == title


def test_how_to_make_one_belongs_to_a_class(documents: dict[str, Document]) -> None:
    assert "maxBytes" in documents["logging.handlers.RotatingFileHandler"].text


def test_texts_do_not_depend_on_the_machine(documents: dict[str, Document]) -> None:
    texts = [document.text for document in documents.values()]
    assert not [
        text for text in texts if re.search(r" at 0x[0-9a-f]", text) or sys.executable in text
    ]


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_same_in_every_process(seed: str, documents: dict[str, Document]) -> None:
    command = [sys.executable, "-S", stdlib_objects.__file__]
    done = subprocess.run(
        command, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True, text=True
    )
    assert [(name, text) for name, *_, text in json.loads(done.stdout)] == [
        (document.id, document.text) for document in documents.values()
    ]


def test_nothing_that_other_packages_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    fingerprint = load("stdlib:").fingerprint
    monkeypatch.setattr("heapq.merge", lambda: None)
    stdlib_documents.cache_clear()
    assert load("stdlib:").fingerprint == fingerprint


def test_the_fingerprint_is_that_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdlib, "stdlib_documents", lambda: (Document("a", "one"),))
    one = load("stdlib:").fingerprint
    monkeypatch.setattr(stdlib, "stdlib_documents", lambda: (Document("a", "two"),))
    assert load("stdlib:").fingerprint != one


def test_a_python_that_cannot_read_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdlib, "READER", Path("/nowhere.py"))
    stdlib_documents.cache_clear()
    with pytest.raises(DataError, match=r"cannot read its own documentation.*nowhere\.py"):
        stdlib_documents()


def test_there_is_only_one() -> None:
    with pytest.raises(DataError, match=r"stdlib:3\.12: there is only one"):
        load("stdlib:3.12")
    with pytest.raises(DataError, match="only one"):
        load("stdlib:", columns=Columns(id="name"))


@pytest.mark.parametrize(("split", "least", "modules"), [("test", 240, 60), ("dev", 60, 40)])
def test_hand_written_questions(
    split: str, least: int, modules: int, documents: dict[str, Document]
) -> None:
    asked = [question for _, question in questions(QUESTIONS / f"{split}.jsonl")]
    assert len({question.query.lower() for question in asked}) == len(asked) >= least
    assert all(len(set(each.documents)) == len(each.documents) > 0 for each in asked)
    answers = {
        documents[name].metadata["module"]
        for each in asked
        for name in each.documents
        if name in documents
    }
    assert len(answers) >= modules
    if sys.version_info[:2] == (3, 11):
        assert missing_names(split) == []


def test_no_test_question_is_asked_elsewhere(data: SourcedDataSet) -> None:
    queries = data.queries()
    tested = {queries[id].text.lower() for id in data.judgments("test")}
    others = {
        queries[id].text.lower() for s in data.splits if s != "test" for id in data.judgments(s)
    }
    assert not tested & others


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("how do I count how often each item appears", "collections.Counter"),
        ("merge two sorted lists", "heapq.merge"),
    ],
)
def test_questions_and_answers(query: str, answer: str, data: SourcedDataSet) -> None:
    id = next(id for id, each in data.queries().items() if each.text == query)
    assert data.judgments("test")[id] == {answer: 1}


def test_names_of_another_version_are_skipped_and_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"query": "merge", "documents": ["heapq.merge", "heapq.merge_fast"]},
        {"query": "fly", "documents": ["antigravity.fly"]},
        {"query": "count", "documents": ["collections.Counter"]},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "test.jsonl").write_text(lines)
    (tmp_path / "train.jsonl").write_text(lines)
    monkeypatch.setattr(stdlib, "QUESTIONS", tmp_path)
    data = load("stdlib:")
    assert data.splits == ["train", "test"]
    assert data.judgments("test") == {
        "test:1": {"heapq.merge": 1},
        "test:3": {"collections.Counter": 1},
    }
    assert missing_names("test") == ["heapq.merge_fast", "antigravity.fly"]
