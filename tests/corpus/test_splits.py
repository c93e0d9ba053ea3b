from collections.abc import Callable
from pathlib import Path

import pytest

from tsgen.artifact import read_manifest
from tsgen.corpus.load import load
from tsgen.corpus.splits import seen_queries, seen_unseen, split_documents
from tsgen.errors import ArtifactError, ConfigError, DataError

Beir = Callable[..., Path]


def test_one_relevant_document_in_training_makes_a_query_seen() -> None:
    training = {"t": {"d1": 1, "d2": 0}}
    test = {
        "one": {"d1": 1},
        "one of two": {"d1": 2, "d9": 1},
        "judged irrelevant in training": {"d2": 1},
        "judged irrelevant in the test": {"d1": 0, "d9": 1},
        "no relevant document": {"d1": -1},
    }
    assert seen_queries(test, training) == {"one", "one of two"}


def test_seen_and_unseen_of_a_data_set(beir: Beir) -> None:
    # Training knows d2. q3 has d3 and d2, so it is seen; q1 has d1 (and d2 with grade 0).
    assert seen_unseen(load(beir())) == ({"q3"}, {"q1"})


def test_without_training_judgments_all_is_unseen(beir: Beir) -> None:
    assert seen_unseen(load(beir(train=None))) == (set(), {"q1", "q3"})


@pytest.fixture
def forty(beir: Beir) -> Path:
    """Forty documents; document i has a training, a dev and a test query; one query has two."""
    numbers = range(40)
    corpus = "".join(f'{{"_id": "d{i}", "text": "page {i}"}}\n' for i in numbers)
    names = [f"{split}{i}" for split in ("train", "dev", "test") for i in numbers]
    queries = "".join(f'{{"_id": "{name}", "text": "query {name}"}}\n' for name in names)
    qrels = {s: "".join(f"{s}{i}\td{i}\t1\n" for i in numbers) for s in ("train", "dev", "test")}
    return beir(corpus=corpus, queries=queries, **qrels)


def test_half_of_the_documents_lose_their_training_queries(forty: Path, tmp_path: Path) -> None:
    report = split_documents(load(forty), tmp_path / "half")
    assert (report.documents, report.seen_documents) == (40, 20)
    assert report.queries_after == {"train": 20, "dev": 20, "test": 40}
    assert (report.tested, report.seen, report.unseen) == ("test", 20, 20)

    data = load(forty, qrels=str(tmp_path / "half"))
    assert data.splits == ["train", "dev", "test"]
    assert data.judgments("test") == load(forty).judgments("test")
    kept = {d for grades in data.judgments("train").values() for d in grades}
    assert kept == {d for grades in data.judgments("dev").values() for d in grades}
    assert tuple(map(len, seen_unseen(data))) == (20, 20)


def test_seed_and_fraction_decide(forty: Path, tmp_path: Path) -> None:
    data = load(forty)
    folders = {
        name: split_documents(data, tmp_path / name, **options)
        for name, options in {"a": {"seed": 1}, "b": {"seed": 1}, "c": {"seed": 2}}.items()
    }
    written = {name: (tmp_path / name / "train.tsv").read_text() for name in folders}
    assert written["a"] == written["b"] != written["c"]
    assert split_documents(data, tmp_path / "d", fraction=0.25).seen_documents == 10


def test_a_query_goes_if_one_of_its_documents_is_unseen(beir: Beir, tmp_path: Path) -> None:
    corpus = "".join(f'{{"_id": "d{i}", "text": "page"}}\n' for i in range(4))
    train = "q1\td0\t1\nq1\td1\t1\nq1\td2\t1\nq2\td3\t0\n"
    folder = beir(corpus=corpus, train=train, test="q3\td3\t1\n")
    split_documents(load(folder), tmp_path / "half")
    judged = load(folder, qrels=str(tmp_path / "half")).judgments("test")
    assert "q1" not in (tmp_path / "half" / "train.tsv").read_text()
    assert judged == {"q3": {"d3": 1}}


def test_dev_is_tested_on_where_there_is_no_test(beir: Beir, tmp_path: Path) -> None:
    folder = beir(test=None, dev="q1\td1\t1\nq3\td3\t1\n")
    report = split_documents(load(folder), tmp_path / "half")
    assert (report.tested, report.queries_after["dev"]) == ("dev", 2)


def test_the_same_split_is_made_once_and_remembers_how(forty: Path, tmp_path: Path) -> None:
    split_documents(load(forty), tmp_path / "half", seed=3)
    before = (tmp_path / "half" / "train.tsv").stat().st_mtime_ns
    split_documents(load(forty), tmp_path / "half", seed=3)
    assert (tmp_path / "half" / "train.tsv").stat().st_mtime_ns == before
    manifest = read_manifest(tmp_path / "half")
    assert (manifest.kind, manifest.seed, manifest.config) == ("split", 3, {"fraction": 0.5})


def test_what_cannot_be_split(beir: Beir, tmp_path: Path) -> None:
    folder = beir(train=None)
    with pytest.raises(DataError, match="splits with judgments: test; expected train"):
        split_documents(load(folder), tmp_path / "half")
    with pytest.raises(ConfigError, match=r"fraction = 1.5"):
        split_documents(load(folder), tmp_path / "half", fraction=1.5)
    assert not (tmp_path / "half").exists()


def test_a_foreign_folder_is_left_alone(forty: Path) -> None:
    with pytest.raises(ArtifactError, match="expected a folder that tsgen wrote"):
        split_documents(load(forty), forty / "qrels")
    assert len((forty / "qrels" / "train.tsv").read_text().splitlines()) == 40
