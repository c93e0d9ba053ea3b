"""An engine without training: a generator made for other terms is given those of the documents."""

import json
from pathlib import Path

import pytest

import tiny
from fitted import FOODS, TASTES, write_bert
from tsgen import open_retriever
from tsgen.artifact import read_manifest
from tsgen.config import read_settings
from tsgen.corpus.load import load
from tsgen.errors import ConfigError
from tsgen.model.mini import Mini
from tsgen.retrieve.build import index_config, index_documents
from tsgen.retrieve.engine import Engine
from tsgen.settings import IndexConfig, MiniConfig


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Markdown files `notes`, a generator `model` that knows two terms, neither of them theirs."""
    folder = tmp_path_factory.mktemp("index")
    write_notes(folder / "notes")
    write_bert(folder / "bert")
    config = MiniConfig(encoder=str(folder / "bert"), encoder_layers=1, heads=4, inner=64)
    Mini.create(config, ["tea", "honey"]).save(folder / "model")
    index_documents(
        load(folder / "notes"), config_of(), folder / "model", folder / "engine", folder
    )
    return folder


def write_notes(folder: Path) -> None:
    folder.mkdir()
    for food, taste in zip(FOODS[:4], TASTES, strict=False):
        (folder / f"{food}.md").write_text(f"# The {taste} {food}\n\nIt is *{taste}*.\n")


def config_of(*settings: str) -> IndexConfig:
    return index_config(read_settings(None, settings, "mini"))


def test_the_engine_answers_with_the_documents_own_terms(folder: Path) -> None:
    engine = Engine.load(folder / "engine")
    (hits,) = engine.search(["brown egg"], k=4)
    assert {hit.document_id for hit in hits} == {"bread.md", "egg.md", "milk.md", "rice.md"}
    for hit in hits:
        assert hit.reason is not None
        assert hit.document_id.removesuffix(".md") in hit.reason.terms
    assert engine.document("egg.md").title == "The brown egg"
    assert isinstance(open_retriever(folder / "engine"), Engine)


def test_the_settings_are_those_of_preset_and_model(folder: Path) -> None:
    config = Engine.load(folder / "engine").config
    assert (config.terms.weights, config.terms.n) == ("pretrained", 48)
    assert (config.decode.beam, config.decode.normalise, config.decode.merge) == (
        20,
        "valid",
        "sum",
    )
    assert (config.model.backbone, config.model.inner) == ("mini-flat", 64)


def test_only_what_changed_is_made_again(folder: Path, tmp_path: Path) -> None:
    def made(*settings: str, model: Path = folder / "model") -> float:
        data = load(tmp_path / "notes")
        index_documents(data, config_of(*settings), model, tmp_path / "engine", tmp_path / "cache")
        return (tmp_path / "engine" / "manifest.json").stat().st_mtime_ns

    def terms() -> set[float]:
        return {path.stat().st_mtime_ns for path in tmp_path.glob("cache/*/terms-*/manifest.json")}

    write_notes(tmp_path / "notes")
    times, first_terms = [made()], terms()
    assert made() == times[0]
    times.append(made("decode.beam=5"))
    times.append(made("decode.beam=5", model=other_weights(folder, tmp_path / "other")))
    assert terms() == first_terms
    (tmp_path / "notes" / "tea.md").write_text("# The fresh tea\n")
    times.append(made("decode.beam=5", model=tmp_path / "other"))
    assert len(terms()) == 2
    assert len(set(times)) == 4
    assert Engine.load(tmp_path / "engine").document("tea.md").title == "The fresh tea"


def other_weights(folder: Path, to: Path) -> Path:
    model = Mini.load(folder / "model")
    model.start.data += 1
    model.save(to)
    return to


def test_the_manifest_names_the_model(folder: Path, tmp_path: Path) -> None:
    inputs = read_manifest(folder / "engine").inputs
    assert inputs["documents"] == load(folder / "notes").fingerprint
    data, model = load(folder / "notes"), other_weights(folder, tmp_path / "other")
    index_documents(data, config_of(), model, tmp_path / "engine", folder)
    assert read_manifest(tmp_path / "engine").inputs["model"] != inputs["model"]


def refused(folder: Path, model: Path | None, message: str) -> None:
    out = folder / "refused"
    with pytest.raises(ConfigError, match=message):
        index_documents(load(folder / "notes"), config_of(), model, out, folder)
    assert not out.exists()


def test_no_model(folder: Path, tmp_path: Path) -> None:
    refused(folder, tmp_path, r"no file mini\.json in it; .* Check the path")


def test_the_generator_of_another_engine(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("# The fresh tea\n")
    index_documents(load(tmp_path), config_of(), folder / "engine", tmp_path / "engine", folder)
    (hits,) = Engine.load(tmp_path / "engine").search(["tea"])
    assert [hit.document_id for hit in hits] == ["tea.md"]


def test_a_model_that_cannot_take_other_terms(folder: Path, tmp_path: Path) -> None:
    tiny.Tiny(["bread"]).mini().save(tmp_path / "model")
    refused(folder, tmp_path / "model", "spells by subword; expected")


def test_a_damaged_model(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "mini.json"
    config.write_text(json.dumps({"spelling": "word"}))
    refused(folder, tmp_path, r"model\.safetensors: No such file or directory; expected")
    config.write_text("{")
    refused(folder, tmp_path, r"mini\.json: not valid JSON")


def test_weights_that_learn_from_queries() -> None:
    with pytest.raises(
        ConfigError, match=r"'learned'.*expected one of: control, pretrained, random, tfidf, title"
    ):
        config_of("terms.weights=learned")
