from pathlib import Path

import pytest

from tsgen.corpus.load import load
from tsgen.corpus.table_files import Columns
from tsgen.errors import DataError
from tsgen.records import Document
from tsgen.settings import PairsConfig
from tsgen.train.examples import numbered_examples


def write(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        (folder / name.replace("__", "-").replace("_", ".")).write_text(content)
    return folder


def test_passages(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        collection_tsv="0\tfirst passage\n1\tsecond\n",
        queries_train_tsv="7\thow\n8\twhy\n",
        queries_dev_small_tsv="9\twhen\n",
        queries_dev_tsv="9\twhen\n10\twho\n",
        qrels_train_tsv="7\t0\t1\t1\n",
        qrels_dev_small_tsv="9\t0\t0\t1\n",
    )
    data = load(folder)
    assert list(data.documents()) == [Document("0", "first passage"), Document("1", "second")]
    assert sorted(data.queries()) == ["10", "7", "8", "9"]
    assert data.splits == ["train", "test"]
    assert data.judgments("test") == {"9": {"0": 1}}


def test_documents_with_addresses_and_the_tracks_own_names(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        msmarco__docs_tsv="D1\thttps://a.org/x\tTitle\tthe body\n",
        msmarco__doctrain__queries_tsv="1\twhat\n",
        msmarco__doctrain__qrels_tsv="1 0 D1 1\n",
    )
    data = load(folder)
    (document,) = data.documents()
    assert document == Document("D1", "the body", "Title")
    assert document.metadata == {"url": "https://a.org/x"}
    assert data.judgments("train") == {"1": {"D1": 1}}


def test_nq320k_in_this_form_has_title_abstract_content_and_ids_that_clash(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        collection_tsv="0\ttea\tTea is a drink.\tIt is hot.\n1\trye\t\tA grain.\n",
        queries_train_tsv="0\twhat is tea\n",
        queries_test_tsv="0\twhat is rye\n",
        qrels_train_tsv="0\t0\t0\t1\n",
        qrels_test_tsv="0\t0\t1\t1\n",
    )
    data = load(folder)
    documents = list(data.documents())
    assert documents[0] == Document("0", "Tea is a drink. It is hot.", "tea")
    assert documents[1].text == "A grain."
    assert data.queries()["train:0"].text == "what is tea"
    assert data.judgments("test") == {"test:0": {"1": 1}}


def test_ms300k_is_a_list_of_ids(tmp_path: Path) -> None:
    files = {
        "docs_tsv": "D1\thttp://a\tA\taa\nD2\thttp://b\tB\tbb\nD3\thttp://c\tC\tcc\n",
        "queries_train_tsv": "1\tone\n2\ttwo\n",
        "qrels_train_tsv": "1\t0\tD1\t1\n2\t0\tD2\t1\n",
    }
    whole = load(write(tmp_path, **files)).fingerprint
    data = load(write(tmp_path, docids_txt="D3\nD1\n"))
    assert [document.id for document in data.documents()] == ["D1", "D3"]
    assert data.judgments("train") == {"1": {"D1": 1}}
    assert len(data.problems) == 0
    assert data.fingerprint != whole


def test_what_papers_test_on_is_no_dev_split(tmp_path: Path) -> None:
    """So no system validates on it: neither on dev.small nor on the dev that it is a part of."""
    files = {
        "collection_tsv": "0\tone\n1\ttwo\n",
        "queries_dev_tsv": "9\twhen\n10\twho\n",
        "qrels_dev_tsv": "9\t0\t0\t1\n10\t0\t1\t1\n",
    }
    assert load(write(tmp_path, **files)).splits == ["test"]
    small = {"queries_dev_small_tsv": "9\twhen\n", "qrels_dev_small_tsv": "9\t0\t0\t1\n"}
    data = load(write(tmp_path, **small))
    assert set(data.splits) == {"test", "dev.full"}
    assert data.judgments("test") == {"9": {"0": 1}}
    own = {"queries_test_tsv": "7\tok\n", "qrels_test_tsv": "7\t0\t1\t1\n"}
    assert set(load(write(tmp_path, **own)).splits) == {"dev", "dev.small", "test"}


def test_columns_may_be_named(tmp_path: Path) -> None:
    folder = write(tmp_path, collection_tsv="u\td1\ttext one\tx\ty\n", docids_txt="d1\n")
    (document,) = load(folder, columns=Columns(id="2", text="3", metadata="1")).documents()
    assert document == Document("d1", "text one")
    assert document.metadata == {"1": "u"}


def test_other_numbers_of_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"collection\.tsv:1: found 1 columns; expected 2 \(id, text\)"
    ):
        load(write(tmp_path, collection_tsv="no tab\n"))
    data = load(write(tmp_path, collection_tsv="1\tone\n2\ttwo\tmore\n"))
    with pytest.raises(DataError, match=r"collection\.tsv:2: found 3 columns; expected 2"):
        list(data.documents())


def test_a_list_of_ids_that_is_not_text(tmp_path: Path) -> None:
    folder = write(tmp_path, collection_tsv="1\tone\n")
    (folder / "docids.txt").write_bytes(b"1\n\xff\n")
    with pytest.raises(DataError, match=r"docids\.txt:2: after '' comes 0xff"):
        load(folder)


def test_a_document_without_an_id(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"collection\.tsv:1: found nothing in the first column"):
        list(load(write(tmp_path, collection_tsv=" \tone\n")).documents())


DOCS = "D17\thttp://a\tA\taa\nD2\thttp://b\tB\tbb\nD3\thttp://c\tC\tcc\n"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("msmarco-docids.rand.300k.txt", "D17\nD3\n"),
        ("docids.txt", "[d17]\n[d3]\n"),
        ("docids.txt", "[d17]\t149,12,5781,1\n[d3]\t8,314,200,1\n"),
        ("docids.txt", "D17\tsomething\nD3\t\n"),
    ],
)
def test_lists_of_ids_as_ultron_releases_them(tmp_path: Path, name: str, lines: str) -> None:
    folder = write(
        tmp_path,
        msmarco__docs_tsv=DOCS,
        msmarco__doctrain__queries_tsv="1\tone\n2\ttwo\n",
        msmarco__doctrain__qrels_tsv="1 0 D17 1\n2 0 D2 1\n",
    )
    (folder / name).write_text(lines)
    data = load(folder)
    assert [document.id for document in data.documents()] == ["D17", "D3"]
    assert data.judgments("train") == {"1": {"D17": 1}}


def test_two_lists_are_one_too_many(tmp_path: Path) -> None:
    folder = write(tmp_path, msmarco__docs_tsv=DOCS)
    for size in ("100k", "300k"):
        (folder / f"msmarco-docids.rand.{size}.txt").write_text("D17\n")
    with pytest.raises(DataError, match=r"rand.100k.txt, .*rand.300k.txt; expected one such file"):
        load(folder)
    (folder / "docids.txt").write_text("D3\n")
    assert [document.id for document in load(folder).documents()] == ["D3"]


def test_a_list_without_ids_or_of_other_documents(tmp_path: Path) -> None:
    folder = write(tmp_path, msmarco__docs_tsv=DOCS, docids_txt="\n")
    with pytest.raises(DataError, match=r"docids\.txt: no document ids in it"):
        load(folder)
    (folder / "docids.txt").write_text("X1\n")
    with pytest.raises(DataError, match=r"restricted to the 1 ids of .*docids\.txt: no documents"):
        list(load(folder).documents())


def test_synthetic_queries_as_ultron_releases_them(tmp_path: Path) -> None:
    folder = write(tmp_path, msmarco__docs_tsv=DOCS, docids_txt="D17\nD3\n")
    path = folder / "msmarco_fake_query_10.txt"
    path.write_text("[d17]\twhat is a\n[d2]\twhat is b\n[d17]\twho is a\n[d3]\tc?\n")
    data = load(folder)
    assert data.splits == ["synthetic"]
    queries = data.queries()
    pairs = [(queries[q].text, *grades) for q, grades in data.judgments("synthetic").items()]
    assert pairs == [("what is a", "D17"), ("who is a", "D17"), ("c?", "D3")]
    path.write_text("[d17] without a tab\n")
    with pytest.raises(DataError, match=r"fake_query_10\.txt:1: .* expected \[d17\], a tab"):
        load(folder).queries()


def test_synthetic_queries_as_the_tsgen_authors_release_them(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        collection_tsv="0\ttea\tTea is a drink.\tIt is hot.\n",
        queries_train_tsv="0\twhat is tea\n",
        queries_doct5_tsv="0\tis tea hot\n1\ttea drink\n",
        qrels_train_tsv="0\t0\t0\t1\n",
        qrels_doct5_tsv="0\t0\t0\t1\n1\t0\t0\t1\n",
    )
    data = load(folder)
    assert data.splits == ["train", "synthetic"]
    assert sorted(data.judgments("synthetic")) == ["synthetic:0", "synthetic:1"]


def test_the_document_tracks_dev_queries_are_the_test(tmp_path: Path) -> None:
    """Papers test on them, so no checkpoint may be chosen by them."""
    folder = write(
        tmp_path,
        msmarco__docs_tsv=DOCS,
        msmarco__doctrain__queries_tsv="1\tone\n",
        msmarco__doctrain__qrels_tsv="1 0 D17 1\n",
        msmarco__docdev__queries_tsv="2\ttwo\n",
        msmarco__docdev__qrels_tsv="2 0 D2 1\n",
    )
    data = load(folder)
    assert data.splits == ["train", "test"]
    assert data.judgments("test") == {"2": {"D2": 1}}
    numbers = {"D17": 0, "D2": 1, "D3": 2}
    _, validation = numbered_examples(data, numbers, PairsConfig(), 10, 0)
    assert list(validation.queries) == ["one"]
