import json
from dataclasses import replace
from pathlib import Path

import pytest

from tsgen.corpus.load import load
from tsgen.docids import assign as stage
from tsgen.docids.assign import open_term_sets, select_terms, summary, terms_config
from tsgen.errors import ArtifactError, ConfigError
from tsgen.settings import TermsConfig
from tsgen.terms import weights as tfidf
from tsgen.terms import weights as weighed
from tsgen.terms.weights import TERM_WEIGHTS

DOCUMENTS = {
    "bread": {"title": "White bread", "text": "Bread made from wheat flour, baked."},
    "copy": {"title": "White bread", "text": "Baked bread, made from wheat flour."},
    "rye": {"title": "Rye", "text": "Dark bread made from rye flour, baked."},
    "empty": {"text": "of the"},
    "egg": {"text": "egg"},
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = (json.dumps({"_id": name, **fields}) for name, fields in DOCUMENTS.items())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "corpus.jsonl").write_text("\n".join(rows) + "\n")
    return tmp_path / "data"


def config(**values: object) -> TermsConfig:
    return TermsConfig.from_mapping({"weights": "tfidf", "n": 3, **values})


def test_every_document_gets_a_set(data: Path, tmp_path: Path) -> None:
    sets = select_terms(load(data), config(), tmp_path / "out")
    found = {sets.document_id(i): set(sets.term_set(i).terms) for i in range(len(sets))}
    assert found["bread"] == found["copy"]
    assert {"white", "bread"} < found["bread"]
    assert "rye" in found["rye"]
    assert found["empty"] == {"#empty"}
    assert found["egg"] == {"egg"}
    assert len(set(map(frozenset, found.values()))) == 4
    assert summary(tmp_path / "out") == {
        "documents": 5, "n": 3, "vocabulary": len(sets.vocabulary), "moved": 0, "duplicates": 2,
    }  # fmt: skip


def test_pieces_do_not_stay_and_the_same_inputs_skip_the_work(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    select_terms(load(data), config(), out)
    assert not list(out.glob("weighed-*"))
    monkeypatch.setattr(stage, "weigh_corpus", None)  # would raise if it were called
    assert len(select_terms(load(data), config(), out)) == 5


def test_sets_of_every_n_share_the_weighing_of_a_language_model(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = replace(TERM_WEIGHTS.get("tfidf"), name="slow", trains=True)
    monkeypatch.setitem(TERM_WEIGHTS._entries, "slow", slow)
    cache = tmp_path / "cache"
    select_terms(load(data), config(weights="slow", n=2), tmp_path / "two", cache=cache)
    monkeypatch.setattr(weighed, "weigh_documents", None)  # would raise if it were called
    three = select_terms(load(data), config(weights="slow", n=3), tmp_path / "three", cache=cache)
    monkeypatch.undo()
    expected = select_terms(load(data), config(n=3), tmp_path / "tfidf")
    assert [three.term_set(i) for i in range(5)] == [expected.term_set(i) for i in range(5)]


def test_other_settings_of_the_weights_are_other_inputs(data: Path, tmp_path: Path) -> None:
    first = select_terms(load(data), config(), tmp_path / "out").doc_weights
    assert first is not None
    before = first.copy()
    after = select_terms(load(data), config(options={"k1": 1.0}), tmp_path / "out").doc_weights
    assert after is not None
    assert (before != after).any()


def test_an_interrupted_run_ends_in_the_same_folder(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stage, "select", interrupt)
        with pytest.raises(KeyboardInterrupt):
            select_terms(load(data), config(), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with monkeypatch.context() as patch:  # the pieces are there: nothing is weighed again
        patch.setattr(tfidf.TfidfWeights, "weigh", interrupt)
        resumed = select_terms(load(data), config(), tmp_path / "out")
    whole = select_terms(load(data), config(), tmp_path / "other")
    assert [resumed.term_set(i) for i in range(5)] == [whole.term_set(i) for i in range(5)]


def test_without_stemming_inflections_are_different_terms(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "loaf loaves egg eggs"}\n')
    source = load(tmp_path / "corpus.jsonl")
    stemmed = select_terms(source, config(n=9), tmp_path / "stemmed")
    plain = select_terms(source, config(n=9, words={"stem": "none"}), tmp_path / "plain")
    assert set(stemmed.term_set(0).terms) == {"loaf", "loaves", "egg"}
    assert set(plain.term_set(0).terms) == {"loaf", "loaves", "egg", "eggs"}


def test_auto_finds_n(data: Path, tmp_path: Path) -> None:
    select_terms(load(data), config(n="auto"), tmp_path / "out")
    assert summary(tmp_path / "out")["n"] == 1


def test_settings_come_from_the_table_of_the_weights() -> None:
    tables = {"terms": {"weights": "tfidf", "n": 8}, "tfidf": {"k1": 1.0}, "other": {"x": 1}}
    assert terms_config(tables) == config(n=8, options={"k1": 1.0})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"weights": "tfdif"}, "unknown weights 'tfdif'; did you mean 'tfidf'"),
        ({"options": {"k2": 1}}, "settings of 'tfidf': unknown setting 'k2'"),
    ],
)
def test_wrong_settings_are_refused_before_any_work(
    data: Path, tmp_path: Path, values: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        select_terms(load(data), config(**values), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("n", [0, -1, "most"])
def test_n_is_a_number_or_auto(n: object) -> None:
    with pytest.raises(ConfigError, match=f"n = {n!r}: expected a whole number"):
        config(n=n)


def test_a_folder_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no manifest"):
        open_term_sets(tmp_path)
