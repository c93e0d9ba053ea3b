"""`irds:` and `hf:` against small stand-ins for the libraries, and without the libraries."""

import sys
from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import pytest

from tsgen.corpus.load import load
from tsgen.corpus.table_files import Columns
from tsgen.errors import DataError, MissingExtraError
from tsgen.records import Document

BeirDoc = namedtuple("BeirDoc", "doc_id text title url")
Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration")


class TopicDoc(namedtuple("TopicDoc", "doc_id marked_up_doc")):
    def default_text(self) -> str:
        return self.marked_up_doc.strip("<>")


class TopicQuery(namedtuple("TopicQuery", "query_id title description")):
    def default_text(self) -> str:
        return self.title


class IrSet:
    def __init__(self, docs: list[Any], queries: list[Any] = (), qrels: list[Any] = ()) -> None:
        self.docs, self.queries, self.qrels = docs, queries, qrels

    def has_docs(self) -> bool:
        return bool(self.docs)

    def has_qrels(self) -> bool:
        return bool(self.qrels)

    def docs_iter(self) -> Any:
        return iter(self.docs)

    def queries_iter(self) -> Any:
        return iter(self.queries)

    def qrels_iter(self) -> Any:
        return iter(self.qrels)


@pytest.fixture
def ir_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    docs = [BeirDoc("1", "green tea", "Tea", "u"), BeirDoc("2", "rye bread", "", "v")]
    asked = [TopicQuery("q1", "tea", "about tea"), TopicQuery("q2", "rye", "")]
    sets = {
        "beir/tiny": IrSet(docs),
        "beir/tiny/train": IrSet(docs, asked[:1], [Qrel("q1", "1", 1, "0")]),
        "beir/tiny/test": IrSet(
            docs, asked[1:], [Qrel("q2", "2", 2, "0"), Qrel("q2", "1", 0, "0")]
        ),
        "beir/tiny/eval": IrSet(docs, asked),
        "cran": IrSet(
            [TopicDoc("7", "<wing>")], [TopicQuery("5", "wings", "")], [Qrel("5", "7", 1, "0")]
        ),
        "logs": IrSet([]),
    }
    library = SimpleNamespace(registry=sets, load=sets.__getitem__)
    monkeypatch.setitem(sys.modules, "ir_datasets", library)


def test_irds_children_with_judgments_are_the_splits(ir_datasets: None) -> None:
    data = load("irds:beir/tiny")
    documents = list(data.documents())
    assert data.name == "beir-tiny"
    assert documents[0] == Document("1", "green tea", "Tea")
    assert documents[0].metadata == {"url": "u"}
    assert data.splits == ["train", "test"]
    assert data.queries()["q2"].text == "rye"
    assert data.judgments("test") == {"q2": {"2": 2, "1": 0}}


def test_irds_a_set_with_judgments_of_its_own_is_one_split(ir_datasets: None) -> None:
    assert load("irds:beir/tiny/train").splits == ["train"]
    data = load("irds:cran")
    assert data.splits == ["test"]
    assert list(data.documents()) == [Document("7", "wing")]
    assert data.fingerprint != load("irds:beir/tiny").fingerprint


def test_irds_names_are_checked(ir_datasets: None) -> None:
    with pytest.raises(DataError, match=r"irds:beir/tini: .*did you mean 'beir/tiny'"):
        load("irds:beir/tini")
    with pytest.raises(DataError, match="irds:logs: it has no documents"):
        load("irds:logs")


class Table(list[dict[str, Any]]):
    _fingerprint = "abc"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str | None], dict[str, Table]]:
    """What is on the hub: (path, configuration) → split → rows."""
    sets: dict[tuple[str, str | None], dict[str, Table]] = {}

    def load_dataset(path: str, config: str | None = None) -> dict[str, Table]:
        if (path, config) not in sets:
            raise ValueError(f"unknown {path} {config}")
        return sets[path, config]

    library = SimpleNamespace(
        load_dataset=load_dataset,
        get_dataset_config_names=lambda path: [c for p, c in sets if p == path and c],
    )
    monkeypatch.setitem(sys.modules, "datasets", library)
    return sets


@pytest.mark.parametrize("place", [("me/tiny", "default"), ("me/tiny-qrels", None)])
def test_hf_in_beir_form(hub: Any, place: tuple[str, str | None]) -> None:
    hub["me/tiny", "corpus"] = {
        "corpus": Table([{"_id": "1", "title": "Tea", "text": "green tea"}])
    }
    hub["me/tiny", "queries"] = {"queries": Table([{"_id": "q", "text": "tea"}])}
    hub[place] = {"test": Table([{"query-id": "q", "corpus-id": 1, "score": 1}]), "dev": Table()}
    data = load("hf:me/tiny")
    assert list(data.documents()) == [Document("1", "green tea", "Tea")]
    assert data.splits == ["test"]
    assert data.judgments("test") == {"q": {"1": 1}}
    assert data.name == "me-tiny"


def test_hf_any_table_with_columns(hub: Any) -> None:
    hub["me/news", "2024"] = {
        "train": Table([{"nr": 1, "words": "one"}, {"nr": 1, "words": "two"}])
    }
    data = load("hf:me/news:2024", columns=Columns(id="nr", text="words"), skip_bad=True)
    assert list(data.documents()) == [Document("1", "one")]
    assert [str(p) for p in data.problems] == [
        "hf:me/news:2024:2: the document id '1' was used before; expected ids that differ"
    ]


def test_hf_bad_judgments_and_unknown_names(hub: Any) -> None:
    with pytest.raises(DataError, match=r"hf:me/gone: cannot be loaded: unknown me/gone"):
        load("hf:me/gone")
    hub["me/odd", "corpus"] = {"corpus": Table([{"_id": "1", "text": "one"}])}
    hub["me/odd", "queries"] = {"queries": Table([{"_id": "q", "text": "tea"}])}
    hub["me/odd", "qrels"] = {"test": Table([{"q": "q", "d": "1"}])}
    with pytest.raises(DataError, match=r"hf:me/odd/qrels/test:1: found q, d; expected query-id"):
        load("hf:me/odd").judgments("test")


def test_hf_reads_real_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_dict({"id": ["a", "b"], "text": ["one", "two"]})
    monkeypatch.setattr(datasets, "get_dataset_config_names", lambda path: ["default"])
    monkeypatch.setattr(
        datasets, "load_dataset", lambda path, config: datasets.DatasetDict({"train": table})
    )
    data = load("hf:me/table")
    assert [document.text for document in data.documents()] == ["one", "two"]
    assert data.fingerprint == load("hf:me/table").fingerprint


@pytest.mark.parametrize(("source", "module"), [("irds:cran", "ir_datasets"), ("hf:x", "datasets")])
def test_the_command_to_install_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, source: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        MissingExtraError, match=rf"{source} needs .*pip install 'tsgen-ir\[datasets\]'"
    ):
        load(source)
