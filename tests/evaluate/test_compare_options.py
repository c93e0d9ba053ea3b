"""All systems by one name, equal minutes, seen beside unseen, and what systems cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from toy import write_beir
from tsgen.config import StageConfig
from tsgen.corpus.load import load
from tsgen.errors import DataError
from tsgen.evaluate import compare as module
from tsgen.evaluate.compare import compare, compared, minutes_of, with_minutes
from tsgen.evaluate.efficiency import Cost, efficiency_table, measure
from tsgen.records import Hit
from tsgen.retrieve.systems import SYSTEMS, System

ANIMALS = {"d1": "cat", "d2": "dog", "d3": "cow", "d4": "hen"}
QUERIES = {"q1": "cat", "q2": "dog", "q3": "cow", "q4": "hen", "t1": "my cat", "t2": "my dog"}


class ToyConfig(StageConfig):
    minutes: float | None = None


class Toy:
    """Answers with one document; what it is searched with is noted."""

    beams: list[int | None]

    def search(self, queries: Sequence[str], k: int, beam: int | None = None) -> list[list[Hit]]:
        Toy.beams += [beam] * len(queries)
        return [[Hit("d1", 1.0)] for _ in queries]

    def save(self, folder: Path) -> None:
        (folder / "model").mkdir()
        (folder / "model" / "model.safetensors").write_bytes(b"x" * 1000)
        (folder / "model" / "tokenizer.json").write_bytes(b"x" * 200)
        (folder / "index.npy").write_bytes(b"x" * 80)
        (folder / "documents.jsonl").write_bytes(b"x" * 5000)

    @classmethod
    def load(cls, folder: Path) -> "Toy":
        return cls()


class Plain(Toy):
    """Has no beam."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:  # type: ignore[override]
        return [[Hit("d1", 1.0)] for _ in queries]


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    Toy.beams = []

    def fit(data: Any, config: ToyConfig, seed: int, folder: Path) -> None:
        Toy().save(folder)

    for name, kind in (("toy", Toy), ("plain", Plain)):
        toy = System(name, ToyConfig, fit, kind.load, True)
        monkeypatch.setitem(SYSTEMS._entries, name, toy)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    test = [("q1", "d1"), ("q2", "d2"), ("q3", "d3"), ("q4", "d4")]
    train = [("t1", "d1"), ("t2", "d2")]
    return write_beir(tmp_path / "animals", ANIMALS, QUERIES, train=train, test=test)


def test_all_is_every_system_in_the_order_of_the_paper() -> None:
    listed = list(dict.fromkeys(module._expanded(["toy", "all"])))
    assert listed[:4] == ["toy", "bm25", "unicoil", "spladev2"]
    assert listed[-1] == "tsgen"
    aside = {"weigher", "bm25-terms", "tsgen-mini", "hybrid", "dense", "bm25-dense"}
    aside |= {"tsgen-index", "tsgen-fit", "tsgen-generator", "tsgen-words"}
    aside |= {"tsgen-fast", "tsgen-first-stage", "tsgen-second-stage"}
    assert set(listed) == set(SYSTEMS.names()) - aside


def test_minutes_reach_every_system_that_has_them(folder: Path, tmp_path: Path) -> None:
    tables = with_minutes({"dsi": {"clusters": 4}, "train": {"epochs": 3}}, 7.5)
    assert minutes_of(SYSTEMS.get("dsi").settings(tables)) == 7.5
    assert minutes_of(SYSTEMS.get("tsgen").settings(tables)) == 7.5
    assert minutes_of(SYSTEMS.get("bm25").settings(tables)) is None
    cache = tmp_path / "cache"
    result = compare(load(folder), ["bm25", "toy"], cache=cache, configs={}, minutes=7.5)
    assert result.as_json()["minutes"] == {"bm25": None, "toy": 7.5}
    assert result.table().notes["minutes of training"] == "toy 7.5"
    free = compare(load(folder), ["toy"], cache=cache, configs={})
    assert "minutes of training" not in free.table().notes
    assert len(list(cache.glob("*/toy-*"))) >= 2, "another budget is another system"


def test_seen_beside_unseen(folder: Path, tmp_path: Path) -> None:
    result = compare(load(folder), ["bm25", "toy"], cache=tmp_path / "cache", configs={})
    tables, figures = compared(result, seen_unseen=True)
    values = {row.label: list(row.values) for row in tables[2].rows}
    assert values["toy"] == [0.5, 0.5, 0.0, 0.0, 0.25, 0.25]
    assert [column.name for column in tables[2].columns][:3] == [
        "seen M@10",
        "seen R@10",
        "unseen M@10",
    ]
    assert figures["seen_unseen"]["rows"][1]["values"]["seen M@10"] == 0.5
    assert tables[2].notes == {"queries": "seen 2, unseen 2, all 4"}


def test_differences_from_the_first_system(folder: Path, tmp_path: Path) -> None:
    result = compare(load(folder), ["bm25", "toy"], cache=tmp_path / "cache", configs={})
    tables, _ = compared(result)
    table = tables[1]
    assert table.caption.endswith("M@10 less that of bm25")
    assert [column.name for column in table.columns] == [
        "all", "all, p", "seen", "seen, p", "unseen", "unseen, p",
    ]  # fmt: skip
    (row,) = table.rows
    bm25, toy = (result.scores[name]["all"].means["M@10"] for name in ("bm25", "toy"))
    assert row.label == "toy"
    assert row.values[0] == pytest.approx(toy - bm25)
    (test,) = result.significance("all", "M@10")
    assert row.values[1] == ("< .001" if test.corrected_p < 0.001 else test.corrected_p)
    alone = compare(load(folder), ["bm25"], cache=tmp_path / "cache", configs={})
    assert len(compared(alone)[0]) == 1


def test_seen_unseen_needs_both(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "x", ANIMALS, QUERIES, test=[("q1", "d1")])
    result = compare(load(folder), ["bm25"], cache=tmp_path / "cache", configs={})
    with pytest.raises(DataError, match="all queries are seen or all are unseen; expected both"):
        compared(result, seen_unseen=True)


def test_costs_of_systems_with_and_without_a_beam(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    names = ["toy", "plain"]
    result = compare(load(folder), names, cache=cache, configs={}, efficiency=True)
    toy, plain = result.costs
    assert (toy.model_bytes, toy.index_bytes, toy.documents) == (1200, 80, 4)
    assert Toy.beams == [None] * 4 + [10] * 5 + [100] * 5
    assert set(toy.milliseconds) == {10, 100}
    assert plain.milliseconds[10] == plain.milliseconds[100]
    tables, figures = compared(result)
    assert len(tables) == 3
    assert figures["efficiency"]["rows"][0]["values"]["×, beam 10"] == 1.0


def test_ratios_are_to_the_first_system() -> None:
    costs = [
        Cost("a", 1000, 1000, 10, {10: 2.0, 100: 4.0}),
        Cost("b", 2000, 4000, 10, {10: 5.0, 100: 5.0}),
    ]
    row = efficiency_table(costs, "x").rows[1]
    assert list(row.values) == [0.002, 400.0, 600.0, 3.0, 5.0, 2.5, 5.0, 1.25]


def test_weights_beside_the_index_are_a_model(tmp_path: Path) -> None:
    (tmp_path / "w.safetensors").write_bytes(b"x" * 10)
    (tmp_path / "ids.json").write_bytes(b"x" * 3)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "training.json").write_bytes(b"x" * 99)
    cost = measure("x", Plain(), tmp_path, ["cat"], 1)
    assert (cost.model_bytes, cost.index_bytes) == (10, 3)
