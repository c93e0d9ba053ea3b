"""BM25 as a retriever: fitted on a data set, saved, opened by its name."""

from pathlib import Path

import pytest

from toy import write_beir
from tsgen.artifact import stage
from tsgen.baselines.bm25 import BM25, BM25Config, grid
from tsgen.corpus.load import load
from tsgen.errors import ArtifactError, DataError
from tsgen.records import Hit
from tsgen.retrieve.systems import SYSTEMS, open_retriever


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text(
        '{"_id": "bread", "title": "Bread", "text": "Sodium in white bread."}\n'
        '{"_id": "egg", "title": "Egg", "text": "The white of an egg."}\n'
        '{"_id": "rye", "title": "", "text": "Rye is a grain."}\n'
    )
    return path


def ids(hits: list[list[Hit]]) -> list[list[str]]:
    return [[hit.document_id for hit in row] for row in hits]


def test_searches_title_and_text(corpus: Path) -> None:
    bm25 = BM25.fit(load(corpus), BM25Config())
    hits = bm25.search(["white breads", "eggs", "cheese", "grain"], k=10)
    assert ids(hits) == [["bread", "egg"], ["egg"], [], ["rye"]]
    assert hits[0][0].score > hits[0][1].score > 0
    assert type(hits[0][0].score) is float
    assert ids(bm25.search(["white breads"], k=1)) == [["bread"]]


def test_fitted_folder_opens_by_its_name(corpus: Path, tmp_path: Path) -> None:
    bm25, config = SYSTEMS.get("bm25"), BM25Config(k1=0.9)
    folder = tmp_path / "bm25"
    data = load(corpus)
    stage(folder, lambda f: bm25.fit(data, config, 0, f), kind="bm25", config=config, inputs={})
    queries = ["white bread", "egg"]
    expected = BM25.fit(data, config).search(queries, 3)
    assert open_retriever(folder).search(queries, 3) == expected
    assert BM25.fit(data, BM25Config()).search(queries, 3) != expected


def test_damaged_index_names_the_file(corpus: Path, tmp_path: Path) -> None:
    config = BM25Config()
    folder = tmp_path / "bm25"
    fit = SYSTEMS.get("bm25").fit
    stage(folder, lambda f: fit(load(corpus), config, 0, f), kind="bm25", config=config, inputs={})
    with (folder / "scores.npy").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\xff")
    with pytest.raises(ArtifactError, match=r"bm25/scores\.npy: its content differs"):
        open_retriever(folder)


def test_k1_and_b_are_tuned_on_dev(tmp_path: Path) -> None:
    """The answer is the longer document of the two that have the word: b = 0.3 finds it."""
    documents = {"short": "tea egg", "long": "tea tea " + "rice milk salt corn " * 3, "x": "soup"}
    folder = write_beir(tmp_path / "set", documents, {"q": "tea"}, dev=[("q", "long")])
    data = load(folder)
    plain, tuned = (BM25.fit(data, BM25Config(tune=tune)) for tune in (False, True))
    assert ids(plain.search(["tea"], 1)) == [["short"]]
    assert ids(tuned.search(["tea"], 1)) == [["long"]]
    (tmp_path / "kept").mkdir()
    tuned.save(tmp_path / "kept")
    assert BM25.load(tmp_path / "kept").search(["tea"], 2) == tuned.search(["tea"], 2)
    chosen = tuned._index.config
    expected = next(
        each
        for each in grid(BM25Config(tune=True))
        if ids(BM25.fit(data, BM25Config(k1=each.k1, b=each.b)).search(["tea"], 1)) == [["long"]]
    )
    assert chosen == expected


def test_given_settings_stay_where_none_is_better(tmp_path: Path) -> None:
    documents = {"a": "tea egg", "b": "rice milk"}
    data = load(write_beir(tmp_path / "set", documents, {"q": "tea"}, dev=[("q", "a")]))
    assert BM25.fit(data, BM25Config(tune=True, k1=1.1, b=0.2))._index.config.k1 == 1.1


def test_tuning_needs_dev(corpus: Path) -> None:
    with pytest.raises(DataError, match="judgments named dev"):
        BM25.fit(load(corpus), BM25Config(tune=True))
