"""The synthetic queries that a data set comes with take the place of written ones."""

import json
from pathlib import Path

import pytest

from tsgen.corpus.load import load
from tsgen.errors import DataError
from tsgen.settings import QueriesConfig
from tsgen.synthetic.writing import QUERIES, counts, make_queries, queries_config

TEXTS = ["Tea is a hot drink.", "Rye is a grain.", "Salt is a mineral."]
SYNTHETIC = [
    ["is tea hot", 0],
    ["what is tea", 0],
    ["tea drink", 0],
    ["which grain is rye", 1],
    ["what is rye", 1],
]


def write_nq320k(folder: Path, synthetic: bool = True) -> Path:
    """NQ320K as GenRet releases it: `what is tea` and `what is rye` are judged queries, too."""
    folder.mkdir()
    (folder / "corpus_lite.json").write_text(json.dumps(TEXTS))
    (folder / "train.json").write_text(json.dumps([["what is tea", 0], ["salt is what", 2]]))
    (folder / "dev.json").write_text(json.dumps([["what is rye", 1]]))
    if synthetic:
        (folder / "train.json.qg.json").write_text(json.dumps(SYNTHETIC))
    return folder


def made(folder: Path, cache: Path, n: int = 10, **more: bool) -> list[tuple[str, str]]:
    config = QueriesConfig(writer="extractive", n=n, **more)
    found = make_queries(load(folder), config, 0, cache)
    lines = (found / QUERIES).read_text().splitlines()
    return [(row["query"], row["document"]) for row in map(json.loads, lines)]


def test_released_queries_are_used_where_they_are(tmp_path: Path) -> None:
    folder = write_nq320k(tmp_path / "nq")
    found = made(folder, tmp_path / "cache", released=True)
    # Those that are judged queries, of training or test, are left out.
    assert found == [("is tea hot", "0"), ("tea drink", "0"), ("which grain is rye", "1")]
    one = made(folder, tmp_path / "cache", n=1, released=True)
    assert one == [("is tea hot", "0"), ("which grain is rye", "1")]


def test_else_queries_are_written(tmp_path: Path) -> None:
    without = write_nq320k(tmp_path / "without", synthetic=False)
    assert {document for _, document in made(without, tmp_path / "a", released=True)} == set("012")
    with_them = write_nq320k(tmp_path / "with")
    written = made(with_them, tmp_path / "b")
    assert "tea drink" not in dict(written)
    assert {document for _, document in written} == set("012")


def test_other_released_queries_are_not_taken_from_the_cache(tmp_path: Path) -> None:
    folder = write_nq320k(tmp_path / "nq")
    made(folder, tmp_path / "cache", released=True)
    (folder / "train.json.qg.json").write_text(json.dumps([["mined from where", 2]]))
    assert made(folder, tmp_path / "cache", released=True) == [("mined from where", "2")]


def test_a_set_without_them_says_so(tmp_path: Path) -> None:
    data = load(write_nq320k(tmp_path / "nq", synthetic=False))
    with pytest.raises(DataError, match=r"no synthetic queries come with it.*named synthetic"):
        make_queries(data, QueriesConfig(writer="released"), 0, tmp_path)


def test_the_setting_is_not_taken_for_a_table_of_the_writer() -> None:
    table = {"writer": "extractive", "released": True, "extractive": {"words": 9}}
    config = queries_config({"queries": table})
    assert (config.released, config.options) == (True, {"words": 9})


def test_counts(tmp_path: Path) -> None:
    config = QueriesConfig(writer="released", n=10)
    found = counts(make_queries(load(write_nq320k(tmp_path / "nq")), config, 0, tmp_path))
    assert (found["written"], found["kept"], found["documents_without"]) == (5, 3, 1)
