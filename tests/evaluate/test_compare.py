"""Comparing systems: each part is done once, and the table says what the hits say."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toy import write_beir
from tsgen.artifact import cache_folder
from tsgen.config import StageConfig
from tsgen.corpus.load import load
from tsgen.corpus.runs import read_trec
from tsgen.errors import ArtifactError, ConfigError, DataError
from tsgen.evaluate.compare import SystemComparison, compare
from tsgen.evaluate.metrics import MEASURES, Scores
from tsgen.records import Hit
from tsgen.retrieve.systems import SYSTEMS, System

ANIMALS = {"d1": "cat", "d2": "dog", "d3": "cow", "d4": "hen"}
QUERIES = {"q1": "cat", "q2": "dog", "q3": "cow", "q4": "hen", "t1": "my cat", "t2": "my dog"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    test = [("q1", "d1"), ("q2", "d2"), ("q3", "d3"), ("q4", "d4")]
    train = [("t1", "d1"), ("t2", "d2")]
    return write_beir(tmp_path / "animals", ANIMALS, QUERIES, train=train, test=test)


class ToyConfig(StageConfig):
    answer: str = "d1"


class Toy:
    """Answers every query with the same document; counts what it is asked to do."""

    fitted: list[tuple[str, int]]
    searched: list[str]

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        Toy.searched += queries
        return [[Hit(self.answer, 1.0)] for _ in queries]

    def save(self, folder: Path) -> None:
        (folder / "answer").write_text(self.answer)

    @classmethod
    def load(cls, folder: Path) -> "Toy":
        return cls((folder / "answer").read_text())


def fit_toy(data: Any, config: ToyConfig, seed: int, folder: Path) -> None:
    Toy.fitted.append((config.answer, seed))
    Toy(config.answer).save(folder)


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two systems that answer the same thing always, one of them counted as trained."""
    Toy.fitted, Toy.searched = [], []
    for name, trains in (("toy", False), ("trained", True)):
        toy = System(name, ToyConfig, fit_toy, Toy.load, trains)
        monkeypatch.setitem(SYSTEMS._entries, name, toy)


def test_figures_of_every_group(folder: Path, tmp_path: Path) -> None:
    result = compare(load(folder), ["bm25", "toy"], cache=tmp_path / "cache")
    means = {
        (system, group): (len(scores), scores.means["M@10"], scores.means["R@1"])
        for system, groups in result.scores.items()
        for group, scores in groups.items()
    }
    assert means == {
        ("bm25", "all"): (4, 1.0, 1.0),
        ("bm25", "seen"): (2, 1.0, 1.0),
        ("bm25", "unseen"): (2, 1.0, 1.0),
        ("toy", "all"): (4, 0.25, 0.25),
        ("toy", "seen"): (2, 0.5, 0.5),
        ("toy", "unseen"): (2, 0.0, 0.0),
    }


def test_table_marks_what_differs_from_the_first_system(tmp_path: Path) -> None:
    queries = {f"q{n}": "cat" for n in range(6)} | {"q6": "dog"}
    judged = [(id, "d1") for id in queries]
    folder = write_beir(tmp_path / "set", ANIMALS, queries, test=judged)
    result = compare(load(folder), ["bm25", "toy", "trained"], cache=tmp_path / "cache",
                     configs={"trained": {"answer": "d3"}})  # fmt: skip
    table = result.table()
    marks = {row.label: row.marks.get("M@10", "") for row in table.rows}
    assert marks == {"bm25": "", "toy": "", "trained": "‡"}
    reverse = compare(load(folder), ["trained", "bm25"], cache=tmp_path / "cache",
                      configs={"trained": {"answer": "d3"}}).table()  # fmt: skip
    assert {row.label: row.marks.get("R@1", "") for row in reverse.rows} == {
        "trained": "",
        "bm25": "†",
    }
    assert [row.values[0] for row in table.rows] == [7, 7, 7]
    assert "bm25" in table.notes["† / ‡"]
    assert {row.group for row in table.rows} == {""}, "no training judgments, so no groups"


def test_json_has_the_figures_and_the_tests(folder: Path, tmp_path: Path) -> None:
    values = compare(load(folder), ["bm25", "toy"], cache=tmp_path / "cache").as_json()
    first = values["rows"][0]
    assert (first["system"], first["queries"], first["values"]["M@10"]) == ("bm25", "all", 1.0)
    test = next(t for t in values["significance"] if t["measure"] == "R@1")
    assert (test["system"], test["reference"], test["difference"]) == ("toy", "bm25", -0.75)


def test_same_inputs_are_done_once(folder: Path, tmp_path: Path) -> None:
    first = compare(load(folder), ["toy"], cache=tmp_path / "cache")
    again = compare(load(folder), ["toy"], cache=tmp_path / "cache")
    assert Toy.fitted == [("d1", 0)]
    assert Toy.searched == ["cat", "dog", "cow", "hen"]
    assert again.table() == first.table()


def test_each_setting_has_its_own_cache(folder: Path, tmp_path: Path) -> None:
    for answer in ("d2", "d3", "d2"):
        settings = {"toy": {"answer": answer}}
        compare(load(folder), ["toy"], cache=tmp_path / "cache", configs=settings)
    compare(load(folder), ["toy"], cache=tmp_path / "cache", seed=5)
    assert Toy.fitted == [("d2", 0), ("d3", 0), ("d1", 5)]


def test_other_documents_are_fitted_anew(folder: Path, tmp_path: Path) -> None:
    compare(load(folder), ["toy"], cache=tmp_path / "cache")
    with (folder / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "d5", "text": "owl"}\n')
    compare(load(folder), ["toy"], cache=tmp_path / "cache")
    assert len(Toy.fitted) == 2


def test_training_judgments_matter_to_what_trains(folder: Path, tmp_path: Path) -> None:
    for _ in range(2):
        compare(load(folder), ["toy", "trained"], cache=tmp_path / "cache")
    assert len(Toy.fitted) == 2
    with (folder / "qrels" / "train.tsv").open("a") as file:
        file.write("t2\td3\t1\n")
    compare(load(folder), ["toy", "trained"], cache=tmp_path / "cache")
    assert len(Toy.fitted) == 3


def test_changed_queries_are_searched_again(folder: Path, tmp_path: Path) -> None:
    compare(load(folder), ["toy"], cache=tmp_path / "cache")
    path = folder / "queries.jsonl"
    path.write_text(path.read_text().replace('"hen"', '"a hen"'))
    compare(load(folder), ["toy"], cache=tmp_path / "cache")
    assert len(Toy.fitted) == 1
    assert Toy.searched[4:] == ["cat", "dog", "cow", "a hen"]


def test_limit_takes_queries_from_all_of_the_file(folder: Path, tmp_path: Path) -> None:
    result = compare(load(folder), ["toy"], cache=tmp_path / "cache", limit=2)
    assert Toy.searched == ["cat", "cow"]
    assert {group: len(scores) for group, scores in result.scores["toy"].items()} == {
        "all": 2,
        "seen": 1,
        "unseen": 1,
    }
    assert result.table().notes["limit"] == "2 queries, evenly spread"


def test_run_files(folder: Path, tmp_path: Path) -> None:
    compare(load(folder), ["bm25", "toy"], cache=tmp_path / "cache", runs_dir=tmp_path / "runs")
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["bm25.trec", "toy.trec"]
    run = read_trec(tmp_path / "runs" / "bm25.trec")
    assert {query: hits[0].document_id for query, hits in run.items()} == {
        "q1": "d1", "q2": "d2", "q3": "d3", "q4": "d4",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("systems", "settings", "message"),
    [
        (["toy", "bm52"], {}, "unknown system 'bm52'; did you mean 'bm25'"),
        (["toy"], {"tpy": {}}, "settings for an unknown system 'tpy'; did you mean 'toy'"),
        (["toy"], {"toy": {"anwser": 1}}, "toy: unknown setting 'anwser'; did you mean 'answer'"),
        ([], {}, "no systems to compare; known: .*bm25"),
    ],
)
def test_mistakes_are_found_before_any_work(
    folder: Path, tmp_path: Path, systems: list[str], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        compare(load(folder), systems, cache=tmp_path / "cache", configs=settings)
    assert Toy.fitted == []
    assert not (tmp_path / "cache").exists()


def test_unknown_split_is_found_before_any_work(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no split named 'tset'"):
        compare(load(folder), ["toy"], cache=tmp_path / "cache", split="tset")
    assert Toy.fitted == []


def test_damaged_cache_names_the_file(folder: Path, tmp_path: Path) -> None:
    compare(load(folder), ["toy"], cache=tmp_path / "cache")
    (hits,) = (tmp_path / "cache").rglob("hits-*.jsonl")
    hits.write_bytes(hits.read_bytes().replace(b"d1", b"d2"))
    with pytest.raises(ArtifactError, match=r"hits-000000\.jsonl: its content differs"):
        compare(load(folder), ["toy"], cache=tmp_path / "cache")


def test_names_with_slashes_and_colons_stay_inside_the_cache(folder: Path, tmp_path: Path) -> None:
    data = load(folder)
    data.name = "irds:../beir/x"
    compare(data, ["toy"], cache=tmp_path / "cache")
    (made,) = (tmp_path / "cache").iterdir()
    assert made.name.startswith("irds-..-beir-x-")


def test_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSGEN_CACHE", "/somewhere")
    assert cache_folder() == Path("/somewhere")
    monkeypatch.setenv("TSGEN_CACHE", "")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == Path("/home/me/.cache/tsgen")


BENCHMARKS = {  # M@10, M@100, R@1, R@10, R@100 of bm25s with its defaults
    ("squad-wiki", "qrels"): {"all": (3636, 0.831, 0.833, 0.765, 0.946, 0.987)},
    ("wiki-10k", "qrels"): {
        "all": (5412, 0.727, 0.731, 0.637, 0.892, 0.974),
        "seen": (3252, 0.667, 0.672, 0.563, 0.860, 0.969),
        "unseen": (2160, 0.819, 0.821, 0.749, 0.938, 0.981),
    },
    ("cranfield", "qrels"): {"all": (225, 0.526, 0.532, 0.069, 0.397, 0.735)},
}


@pytest.mark.shared
@pytest.mark.parametrize(("name", "qrels"), BENCHMARKS)
def test_bm25_table_of_the_benchmarks(
    name: str, qrels: str, shared_data: Path, tmp_path: Path
) -> None:
    result = compare(load(shared_data / name, qrels=qrels), ["bm25"], cache=tmp_path / "cache")
    expected = BENCHMARKS[name, qrels]
    assert list(result.scores["bm25"]) == list(expected)
    for group, (queries, *figures) in expected.items():
        scores = result.scores["bm25"][group]
        assert len(scores) == queries
        found = [scores.means[m] for m in ("M@10", "M@100", "R@1", "R@10", "R@100")]
        assert found == pytest.approx(figures, abs=0.002)


def test_the_star_is_against_the_best_generative_baseline() -> None:
    """Better than every rival of the kind, by a test against the best of them alone."""
    rng = np.random.default_rng(0)
    ids = tuple(map(str, range(200)))

    def scored(mean: float) -> dict[str, Scores]:
        values = np.clip(mean + 0.1 * rng.standard_normal(200), 0, 1)
        return {"all": Scores(ids, dict.fromkeys(MEASURES, values), 0, 0)}

    scores = {"BM25": scored(0.9), "weak": scored(0.2), "strong": scored(0.5), "ours": scored(0.6)}
    rivals, own = ["weak", "strong"], ["ours"]
    found = SystemComparison("t", 100, None, scores, rivals=rivals, own=own, measures=["M@10"])
    assert found.rival_tests("all", "M@10")[0] == "strong"
    marks = {row.label: row.marks for row in found.table().rows}
    assert marks["ours"] == {"M@10": "‡*"}  # worse than BM25, the first row
    assert "best of weak, strong" in found.table().notes["*"]
    told = [test for test in found.as_json()["significance"] if test["reference"] == "strong"]
    assert [test["system"] for test in told] == ["ours"]
    equal = scores | {"strong": scores["ours"]}
    found = SystemComparison("t", 100, None, equal, rivals=rivals, own=own, measures=["M@10"])
    assert {row.label: row.marks for row in found.table().rows}["ours"] == {"M@10": "‡"}
