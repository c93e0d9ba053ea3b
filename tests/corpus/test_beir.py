import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from tsgen.corpus.dataset import judgments_fingerprint
from tsgen.corpus.load import load
from tsgen.errors import DataError
from tsgen.records import Document, Query

Beir = Callable[..., Path]


def test_reads_documents_queries_and_judgments(beir: Beir) -> None:
    data = load(beir())
    documents = list(data.documents())
    assert data.name == "set"
    assert documents[0] == Document("d1", "white bread has sodium", "Bread")
    assert documents[0].metadata == {"url": "u1"}
    assert [document.title for document in documents] == ["Bread", "Egg", ""]
    assert data.queries()["q2"] == Query("q2", "egg")
    assert data.judgments("test") == {"q1": {"d1": 2, "d2": 0}, "q3": {"d3": 1, "d2": 1}}
    assert data.splits == ["train", "test"]
    assert len(data.problems) == 0


@pytest.mark.parametrize(
    ("end", "compress"), [(".gz", gzip.compress), (".zst", zstandard.compress)]
)
def test_reads_compressed_files(beir: Beir, end: str, compress) -> None:
    folder = beir()
    plain = list(load(folder).documents())
    for path in [*folder.glob("*.jsonl"), *folder.glob("qrels/*.tsv")]:
        path.with_name(path.name + end).write_bytes(compress(path.read_bytes()))
        path.unlink()
    data = load(folder)
    assert list(data.documents()) == plain
    assert data.splits == ["train", "test"]
    assert len(data.judgments("test")) == 2


def test_takes_other_folders_of_judgments_by_name_or_path(beir: Beir, tmp_path: Path) -> None:
    folder = beir()
    for other in (folder / "qrels_other", tmp_path / "elsewhere"):
        other.mkdir()
        (other / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td2\t1\n")
    for qrels in ("qrels_other", str(tmp_path / "elsewhere")):
        data = load(folder, qrels=qrels)
        assert data.splits == ["test"]
        assert data.judgments("test") == {"q2": {"d2": 1}}


def test_names_the_folders_there_are_if_one_is_missing(beir: Beir) -> None:
    with pytest.raises(DataError, match=r"qrels_typo: no such folder.*Folders in .*: qrels\."):
        load(beir(), qrels="qrels_typo")


def test_documents_alone_are_a_data_set(beir: Beir) -> None:
    folder = beir(queries=None, train=None, test=None)
    (folder / "qrels").rmdir()
    data = load(folder)
    assert len(list(data.documents())) == 3
    assert data.splits == []
    assert data.queries() == {}
    with pytest.raises(DataError, match=r"set: no split named 'test'\. .*: none"):
        data.judgments("test")


def test_documents_can_be_read_again_and_side_by_side(beir: Beir) -> None:
    data = load(beir())
    pairs = list(zip(data.documents(), data.documents(), strict=True))
    assert len(pairs) == 3
    assert all(left == right for left, right in pairs)


def test_fingerprint_follows_the_documents_only(beir: Beir) -> None:
    folder = beir()
    before = load(folder).fingerprint
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\n")
    assert load(folder).fingerprint == before
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "other"}\n')
    assert load(folder).fingerprint != before


def test_fingerprint_of_judgments_follows_grades_and_query_texts(beir: Beir) -> None:
    folder = beir()
    before = judgments_fingerprint(load(folder), "test")
    assert judgments_fingerprint(load(folder), "test") == before
    assert judgments_fingerprint(load(folder), "train") != before
    queries = folder / "queries.jsonl"
    queries.write_text(queries.read_text().replace("sodium in bread", "salt in bread"))
    assert judgments_fingerprint(load(folder), "test") != before
