"""Every kind of bad input: one message with the place, or a count when it is to be skipped."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tsgen.corpus.load import load
from tsgen.corpus.sources import SourcedDataSet
from tsgen.errors import DataError

Beir = Callable[..., Path]
GOOD = (
    '{"_id": "d1", "text": "one"}\n{"_id": "d2", "text": "two"}\n{"_id": "d3", "text": "three"}\n'
)

BAD_DOCUMENTS = {
    "duplicate id": ('{"_id": "d1", "text": "again"}', "'d1' was used before"),
    "empty text": ('{"_id": "d9", "title": " ", "text": ""}', "'d9' has neither text nor title"),
    "missing text": (
        '{"_id": "d9", "body_text": "x"}',
        "no text: found _id, body_text; expected text or",
    ),
    "missing id": ('{"text": "x"}', "found nothing as the id; expected it in _id or id"),
    "wrong type": ('{"_id": "d9", "text": ["x"]}', "the text is a list; expected a string"),
    "broken JSON": ('{"_id": "d9", "text": "x"', "expected one JSON object a line"),
    "invalid UTF-8": (b'{"_id": "d9", "text": "caf\xe9"}', "comes 0xe9, which is not valid UTF-8"),
}

BAD_JUDGMENTS = {
    "unknown query": ("q9\td1\t1", "query 'q9' is not in .*queries.jsonl"),
    "unknown document": ("q1\td9\t1", "document 'd9' is not in .*corpus.jsonl"),
    "wrong columns": ("q1", "found 1 columns; expected query, document, grade"),
    "two grades": ("q1\td1\t3", "has grade 3 here and 1 before"),
    "invalid UTF-8": (b"q\xff\td1\t1", "comes 0xff"),
}

BAD_QUERIES = {
    "duplicate id": ('{"_id": "q1", "text": "other"}', "query id 'q1' was used before"),
    "empty text": ('{"_id": "q9", "text": " "}', "query 'q9' is empty"),
    "missing text": ('{"_id": "q9"}', "no text: found _id; expected text or query"),
    "broken JSON": ('["q9"]', "found a list; expected one JSON object"),
}


def read(data: SourcedDataSet) -> None:
    for _ in data.documents():
        pass
    data.queries()
    data.judgments("test")


def bytes_of(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def check(folder: Path, kind: str, place: str, message: str) -> SourcedDataSet:
    """The first bad record raises with its place and with advice, or is skipped and counted."""
    with pytest.raises(DataError, match=rf"{place}: .*{message}.*--skip-bad"):
        read(load(folder))
    data = load(folder, skip_bad=True)
    read(data)
    read(data)  # reading twice counts once
    assert data.problems.counts == {kind: 1}
    assert data.problems.summary() == f"skipped 1 bad records: {kind} 1"
    return data


@pytest.mark.parametrize(("kind", "line", "message"), [(k, *v) for k, v in BAD_DOCUMENTS.items()])
def test_documents(beir: Beir, kind: str, line: str | bytes, message: str) -> None:
    folder = beir(corpus=bytes_of(GOOD) + bytes_of(line) + b"\n")
    data = check(folder, kind, r"corpus\.jsonl:4", message)
    assert [document.id for document in data.documents()] == ["d1", "d2", "d3"]
    assert [document.text for document in data.documents()] == ["one", "two", "three"]


@pytest.mark.parametrize(("kind", "line", "message"), [(k, *v) for k, v in BAD_JUDGMENTS.items()])
def test_judgments(beir: Beir, kind: str, line: str | bytes, message: str) -> None:
    folder = beir(test=b"query-id\tcorpus-id\tscore\nq1\td1\t1\n" + bytes_of(line) + b"\n")
    data = check(folder, kind, r"test\.tsv:3", message)
    assert data.judgments("test") == {"q1": {"d1": 1}}


@pytest.mark.parametrize(("kind", "line", "message"), [(k, *v) for k, v in BAD_QUERIES.items()])
def test_queries(beir: Beir, kind: str, line: str, message: str) -> None:
    good = b'{"_id": "q1", "text": "one"}\n{"_id": "q3", "text": "three"}\n'
    data = check(beir(queries=good + bytes_of(line)), kind, r"queries\.jsonl:3", message)
    assert data.queries()["q1"].text == "one"


def test_a_title_alone_is_a_document(beir: Beir) -> None:
    bread = '{"_id": "d1", "title": "Bread", "text": ""}\n'
    data = load(beir(corpus=bread + '{"_id": "d2", "title": "Egg", "text": null}'))
    assert [document.contents.strip() for document in data.documents()] == ["Bread", "Egg"]


def test_an_empty_split_says_which_ones_are_not(beir: Beir) -> None:
    data = load(beir(dev="query-id\tcorpus-id\tscore\n"))
    assert data.splits == ["train", "test"]
    assert data.empty_splits == ["dev"]
    with pytest.raises(DataError, match=r"dev\.tsv: no judgments in it\. .*: train, test\."):
        data.judgments("dev")


def test_a_split_of_bad_judgments_only_cannot_be_used(beir: Beir) -> None:
    data = load(beir(test="q9\td1\t1\n"), skip_bad=True)
    assert "test" in data.splits
    with pytest.raises(DataError, match=r"test\.tsv: no judgments in it"):
        data.judgments("test")


def test_an_empty_corpus_is_refused_even_if_bad_records_are_skipped(beir: Beir) -> None:
    folder = beir(corpus="{\n")
    with pytest.raises(DataError, match=r"corpus\.jsonl: no documents in it"):
        list(load(folder, skip_bad=True).documents())


def test_a_folder_that_is_no_data_set(tmp_path: Path) -> None:
    (tmp_path / "notes.pdf").touch()
    (tmp_path / "images").mkdir()
    expected = (
        r"Found: images/, notes\.pdf\. Expected one of: .*BEIR.*MS MARCO.*NQ320K.*text files, \.md"
    )
    with pytest.raises(DataError, match=rf"not a data set\. {expected}"):
        load(tmp_path)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone: no such file or folder; expected a data folder"):
        load(tmp_path / "gone")


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "page.pdf"
    path.touch()
    with pytest.raises(
        DataError, match=r"page\.pdf: a file of an unknown format; expected .*\.jsonl"
    ):
        load(path)


def test_a_folder_of_judgments_without_any(beir: Beir) -> None:
    folder = beir()
    (folder / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty: found nothing; expected judgments: train\.tsv"):
        load(folder, qrels="empty")
