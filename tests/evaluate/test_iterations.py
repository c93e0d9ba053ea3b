"""Iterations side by side: their own models, tested against each other, with times."""

from pathlib import Path

import pytest

from fitted import settings, write_bert, write_foods
from tsgen.config import read_settings
from tsgen.corpus.load import load
from tsgen.evaluate.iterations import IterationComparison, compare_iterations
from tsgen.evaluate.tables import to_markdown
from tsgen.retrieve import bench
from tsgen.retrieve.build import engine_config, fit_engine

SHORT = ["train.epochs=12", "train.validate_every=4"]  # so that iteration 1 leaves room


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("iterations")
    write_foods(folder / "set", "train", "dev", "test")
    tables = read_settings(None, [*settings(write_bert(folder / "bert")), *SHORT], "tiny")
    data = load(folder / "set")
    fit_engine(data, engine_config(tables), folder / "engine", 3, folder / "cache")
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> IterationComparison:
    return compare_iterations(load(folder / "set"), folder / "engine", cache=folder / "cache")


def test_one_table(found: IterationComparison) -> None:
    table = found.table()
    assert [row.label for row in table.rows] == ["bm25", "iteration 1", "iteration 2"]
    first, second = (found.comparison.scores[f"iteration {n}"]["all"].means for n in (1, 2))
    assert 0.05 < first["M@10"] < second["M@10"]
    (gain,) = found.gains("all", "M@10")
    assert gain.system == "iteration 2"
    assert gain.mean_difference == pytest.approx(second["M@10"] - first["M@10"])
    assert table.notes["iteration 2 − the one before, M@10"].startswith("+.")
    assert "iteration 1 0." in table.notes["minutes of training"]
    assert "| iteration 2 |" in to_markdown(table)


def test_as_json(found: IterationComparison) -> None:
    values = found.as_json()
    assert {row["system"] for row in values["rows"]} == {"bm25", "iteration 1", "iteration 2"}
    assert values["seeds"] == [3]
    assert values["settings"]["tsgen"]["train"]["epochs"] == 12
    assert set(values["minutes"]) == {"iteration 1", "iteration 2"}
    assert {gain["measure"] for gain in values["gains"]} >= {"M@10", "R@1", "R@10", "R@100"}


def test_nothing_is_searched_twice(
    folder: Path, found: IterationComparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "keep_run", None)
    again = compare_iterations(load(folder / "set"), folder / "engine", cache=folder / "cache")
    assert again.as_json() == found.as_json()


def test_minutes_of_a_learned_weigher(tmp_path: Path) -> None:
    write_foods(tmp_path / "set", "train", "dev", "test")
    bert = write_bert(tmp_path / "bert")
    learned = ["terms.weights=learned", f"weigher.model.encoder={bert}", "train.iterations=1"]
    short = ["weigher.model.window=16", "weigher.model.overlap=4", "weigher.training.window=16"]
    tables = read_settings(None, [*settings(bert, epochs=2), *learned, *short], "tiny")
    data, engine = load(tmp_path / "set"), tmp_path / "engine"
    fit_engine(data, engine_config(tables), engine, 3, tmp_path / "cache")
    before = {path.name for path in (tmp_path / "cache").glob("*/trained-weigher-*")}
    found = compare_iterations(data, engine, cache=tmp_path / "cache")
    assert list(found.minutes) == ["weigher", "iteration 1"]
    assert found.minutes["weigher"] > 0
    assert {path.name for path in (tmp_path / "cache").glob("*/trained-weigher-*")} == before
