"""An engine: fitted, saved, opened, searched; and what is said when it cannot be."""

import json
from datetime import date
from pathlib import Path

import pytest

from fitted import FOODS, settings, write_bert, write_foods
from tsgen import open_retriever
from tsgen.artifact import MANIFEST
from tsgen.config import read_settings
from tsgen.corpus.load import load
from tsgen.errors import ArtifactError, ConfigError, DataError
from tsgen.evaluate.compare import compare
from tsgen.records import Document
from tsgen.retrieve.build import engine_config, fit_engine
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.storage import DocumentStore
from tsgen.settings import EngineConfig


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set `set`, its engine `engine`, and the cache it was made with."""
    folder = tmp_path_factory.mktemp("engine")
    write_foods(folder / "set", "train", "dev", "test")
    write_bert(folder / "bert")
    data = load(folder / "set")
    fit_engine(data, config(folder), folder / "engine", cache=folder / "cache")
    return folder


def config(folder: Path, *changes: str) -> EngineConfig:
    return engine_config(read_settings(None, [*settings(folder / "bert"), *changes], "tiny"))


def test_finds_every_document_and_says_why(folder: Path) -> None:
    engine = Engine.load(folder / "engine")
    queries = list(load(folder / "set").queries().values())
    found = engine.search([query.text for query in queries], k=3)
    assert [hits[0].document_id for hits in found] == [f"d{i}" for i in range(20)]
    hit = found[0][0]
    sets = engine.generator.sets
    assert hit.reason is not None
    assert sorted(hit.reason.terms) == sorted(sets.term_set(0).terms)
    assert sum(hit.reason.log_probs) <= hit.score <= 0  # one of the orders that are added up
    assert hit.reason.valid_documents[-1] == 1
    assert engine.document("d0") == next(iter(load(folder / "set").documents()))


def test_the_beam_can_be_set(folder: Path) -> None:
    engine = Engine.load(folder / "engine")
    (narrow,), (wide,) = (engine.search(["white"], 10, beam=beam) for beam in (1, 20))
    assert len(narrow) < len(wide)
    with pytest.raises(ConfigError, match="beam = 0"):
        engine.search(["white"], 10, beam=0)


def test_saved_again_it_answers_the_same(folder: Path, tmp_path: Path) -> None:
    engine = Engine.load(folder / "engine")
    engine.save(tmp_path)
    again = Engine.load(tmp_path)
    assert again.search(["sour rice"], 5) == engine.search(["sour rice"], 5)
    assert again.document("d3") == engine.document("d3")


def test_compare_shares_what_fit_has_trained(folder: Path) -> None:
    before = {path.name for path in (folder / "cache").glob("*/iteration-*")}
    tables = read_settings(None, settings(folder / "bert"), "tiny")
    data = load(folder / "set")
    result = compare(data, ["bm25", "tsgen"], cache=folder / "cache", configs=tables)
    assert result.scores["tsgen"]["all"].means["R@1"] == 1.0
    assert {path.name for path in (folder / "cache").glob("*/iteration-*")} == before
    (fitted,) = (folder / "cache").glob("*/tsgen-[0-9a-f]*")
    assert isinstance(open_retriever(fitted), Engine)


def test_settings_of_stages() -> None:
    assert engine_config({"train": {"normalise": "full"}}).decode.normalise == "full"
    assert engine_config({"decode": {"normalise": "valid"}}).decode.normalise == "valid"
    with pytest.raises(ConfigError, match=r"\[train\]: unknown setting 'epoch'; did you mean 'ep"):
        engine_config({"train": {"epoch": 3}})


@pytest.mark.parametrize("preset", ["tiny", "cpu", "gpu-base", "paper"])
def test_presets_are_valid(preset: str) -> None:
    made = engine_config(read_settings(None, [], preset))
    assert made.terms.n == ("queries" if preset == "cpu" else 12)
    assert made.train.iterations == (1 if preset == "cpu" else 2)
    assert made.train.favourite.temperature == 3.0
    if preset in ("gpu-base", "paper"):
        assert (made.model.backbone, made.decode.beam) == ("google-t5/t5-base", 100)


def test_tsgen_has_no_table_of_its_own(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[tsgen\].*terms, queries, model, train, decode"):
        compare(load(folder / "set"), ["tsgen"], configs={"tsgen": {"epochs": 1}})


def test_no_training_queries(folder: Path, tmp_path: Path) -> None:
    data = load(write_foods(tmp_path / "set", "test"))
    with pytest.raises(DataError, match="no training queries: it has no judgments named train"):
        fit_engine(data, config(folder), tmp_path / "engine", cache=tmp_path / "cache")
    assert not (tmp_path / "engine").exists()


def test_learns_from_the_documents_own_words(folder: Path, tmp_path: Path) -> None:
    data = load(write_foods(tmp_path / "set", "test"))
    changes = ["train.pairs.pieces=1", "train.epochs=1", "train.iterations=1"]
    fit_engine(data, config(folder, *changes), tmp_path / "engine", cache=tmp_path / "cache")
    assert len(Engine.load(tmp_path / "engine").search([FOODS[0]], 5)[0]) == 5


def test_no_network_for_a_hub_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoConfig

    def offline(*_: object, **__: object) -> None:
        raise OSError("We couldn't connect to the hub")

    monkeypatch.setattr(AutoConfig, "from_pretrained", offline)
    data = load(folder / "set")
    changes = ["model.backbone=google-t5/t5-base", "model.spelling=subword"]
    with pytest.raises(
        ConfigError, match=r"'google-t5/t5-base': We couldn't.*local folder.*`mini`"
    ):
        fit_engine(data, config(folder, *changes), tmp_path / "engine", cache=tmp_path / "cache")


def test_an_engine_of_a_newer_version(folder: Path, tmp_path: Path) -> None:
    manifest = json.loads((folder / "engine" / MANIFEST).read_text())
    newer = {"format": 99, "versions": {"tsgen": "9.0"}}
    (tmp_path / MANIFEST).write_text(json.dumps(manifest | newer))
    with pytest.raises(ArtifactError, match=r"made by tsgen 9.0.*pip install -U tsgen-ir"):
        Engine.load(tmp_path)


def test_no_engine(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="expected a folder that tsgen wrote"):
        Engine.load(tmp_path)


def test_documents_on_disk(tmp_path: Path) -> None:
    metadata = {"year": 2020, "tags": ["x"], "when": date(2020, 1, 2)}
    documents = [Document("a", "Brot\nund Käse", "Ü"), Document("b", "", "B", metadata)]
    documents.append(Document("c", "c"))
    DocumentStore.write(documents, tmp_path)
    store = DocumentStore(tmp_path)
    assert store[1].metadata == {"year": 2020, "tags": ["x"], "when": "2020-01-02"}
    assert store[2].metadata == {}
    assert list(store) == [store[0], store[1], store[2]] == documents
    assert len(store) == 3
