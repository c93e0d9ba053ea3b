"""The stages: what they write, count, keep and go on from."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fitted import FOODS, write_foods
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.docids.term_set import TermSets
from tsgen.errors import ConfigError, DataError
from tsgen.records import Document, TermSet
from tsgen.settings import QueriesConfig
from tsgen.synthetic import writing
from tsgen.synthetic.writers import WRITERS, WriterKind
from tsgen.synthetic.writing import QUERIES, counts, make_queries, queries_config
from tsgen.train.examples import read_pairs


class NoSettings(StageConfig):
    """Nothing to set."""


class Fragile:
    """Writes the last word, a wrong word and a duplicate; breaks when told so."""

    calls = 0
    breaks_at = -1

    def write(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        Fragile.calls += 1
        if Fragile.calls == Fragile.breaks_at:
            raise KeyboardInterrupt
        words = [document.text.split() for document in documents]
        return [[f"{row[1]} {row[2]}", "nothing", f"{row[1]}, {row[2]}"][:n] for row in words]


@pytest.fixture
def foods(tmp_path: Path) -> DataSet:
    return load(write_foods(tmp_path / "foods", "train", "test"))


@pytest.fixture(autouse=True)
def fragile(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = WriterKind("fragile", NoSettings, lambda *_: Fragile())
    monkeypatch.setitem(WRITERS._entries, "fragile", kind)
    monkeypatch.setattr(writing, "PIECE", 4)
    Fragile.calls, Fragile.breaks_at = 0, -1


CONFIG = QueriesConfig(writer="fragile", n=3, keep_top=5)


def test_counts_and_the_file(foods: DataSet, tmp_path: Path) -> None:
    folder = make_queries(foods, CONFIG, 0, tmp_path)
    assert counts(folder) == {
        "documents": 20,
        "written": 60,
        "duplicates": 20,
        "filtered": 20,
        "kept": 20,
        "kept_per_document": 1.0,
        "documents_without": 0,
    }
    sets = TermSets.of(TermSet(f"d{i}", (food,), (1.0,)) for i, food in enumerate(FOODS))
    pairs = read_pairs(folder / QUERIES, sets.document_numbers())
    assert [pair.document for pair in pairs] == list(range(20))
    assert pairs[0].query == "white bread"
    assert sorted(path.name for path in folder.iterdir()) == [
        "counts.json",
        "manifest.json",
        "queries.jsonl",
    ]


def test_interrupted_it_goes_on(foods: DataSet, tmp_path: Path) -> None:
    expected = (make_queries(foods, CONFIG, 0, tmp_path / "a") / QUERIES).read_bytes()
    Fragile.calls, Fragile.breaks_at = 0, 3
    with pytest.raises(KeyboardInterrupt):
        make_queries(foods, CONFIG, 0, tmp_path / "b")
    assert (make_queries(foods, CONFIG, 0, tmp_path / "b") / QUERIES).read_bytes() == expected
    assert Fragile.calls == 3 + 3  # the two finished pieces were not written again


def test_choosing_anew_does_not_write_anew(foods: DataSet, tmp_path: Path) -> None:
    first = make_queries(foods, CONFIG, 0, tmp_path)
    calls = Fragile.calls
    second = make_queries(foods, QueriesConfig(writer="fragile", n=3), 0, tmp_path)
    assert Fragile.calls == calls
    assert first != second
    assert counts(second)["kept"] == 21  # "nothing" once, with the first document


def test_the_sets_own_queries_are_left_out(tmp_path: Path) -> None:
    foods = load(write_foods(tmp_path / "foods", "test"))
    queries = {query.text for query in foods.queries().values()}
    config = QueriesConfig(writer="extractive", n=6)
    found = (make_queries(foods, config, 0, tmp_path) / QUERIES).read_text()
    assert not [query for query in queries if f'"{query}"' in found]


def test_settings_of_the_chosen_writer() -> None:
    table = {"writer": "extractive", "n": 4, "extractive": {"words": 9}, "local": {"epochs": 1}}
    config = queries_config({"queries": table})
    assert (config.n, config.options) == (4, {"words": 9})


def test_errors_say_what_to_do(foods: DataSet, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'extractive'"):
        make_queries(foods, QueriesConfig(writer="extractiv"), 0, tmp_path)
    with pytest.raises(ConfigError, match="unknown setting 'wrds'; did you mean 'words'"):
        make_queries(foods, QueriesConfig(options={"wrds": 1}), 0, tmp_path)
    untrained = load(write_foods(tmp_path / "other", "test"))
    with pytest.raises(DataError, match=r"no training judgments .* --writer extractive"):
        make_queries(untrained, QueriesConfig(writer="local"), 0, tmp_path)
