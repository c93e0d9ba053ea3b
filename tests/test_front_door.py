"""The public calls: what a user of the package writes first."""

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tsgen
from living import DOCUMENTS, write_documents, write_model
from tsgen.errors import ConfigError, DataError, UnknownDocumentError
from tsgen.retrieve.collection import Changed

TEXTS = [one.text for one in DOCUMENTS]
SETTINGS = {"terms": {"n": 3, "weights": "tfidf"}}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def engine(model: Path) -> tsgen.Engine:
    return tsgen.index(DOCUMENTS, model=model, preset="mini", settings=SETTINGS)


class Frame:
    """As much of a pandas DataFrame as is read."""

    columns = ("id", "title", "text")

    def to_dict(self, orient: str) -> list[dict[str, str]]:
        assert orient == "records"
        return [{"id": one.id, "title": one.title, "text": one.text} for one in DOCUMENTS]


def forms(folder: Path) -> Iterator[tuple[Any, list[str]]]:
    """The same documents in every form, and the ids that they should get."""
    ids, numbers = [one.id for one in DOCUMENTS], [str(i) for i in range(len(DOCUMENTS))]
    dicts = [{"id": one.id, "title": one.title, "text": one.text} for one in DOCUMENTS]
    path = write_documents(folder / "documents.jsonl", DOCUMENTS)
    yield TEXTS, numbers
    yield iter(TEXTS), numbers
    yield dicts, ids
    yield DOCUMENTS, ids
    yield (one for one in DOCUMENTS), ids
    yield path, ids
    yield str(path), ids
    yield tsgen.load(path), ids
    yield Frame(), ids


def test_index_takes_documents_in_any_form(model: Path, tmp_path: Path) -> None:
    for documents, ids in forms(tmp_path):
        engine = tsgen.index(documents, model=model, preset="mini", settings=SETTINGS)
        assert [one.id for one in engine] == ids
        assert [one.text for one in engine] == TEXTS


def test_one_query_or_several(engine: tsgen.Engine) -> None:
    one = engine.search("moss and fern", k=2)
    several = engine.search(["moss and fern", "yew"], k=2)
    assert all(isinstance(hit, tsgen.Hit) for hit in one)
    assert [len(hits) for hits in several] == [2, 2]
    assert [hit.document_id for hit in several[0]] == [hit.document_id for hit in one]
    assert engine.search([], k=2) == []
    assert len(engine.search("moss", k=2, beam=3)) == 2
    assert engine.search("moss", where='words = "none"') == []


def test_an_engine_is_like_a_dict_of_its_documents(engine: tsgen.Engine) -> None:
    assert len(engine) == len(DOCUMENTS)
    assert engine["d3"] == engine.document("d3") == DOCUMENTS[3]
    assert "d3" in engine
    assert "d33" not in engine
    assert 3 not in engine
    assert list(engine) == DOCUMENTS
    with pytest.raises(UnknownDocumentError, match="'d33': no such document"):
        engine["d33"]
    with pytest.raises(KeyError):
        engine["d33"]


def test_its_repr_says_what_it_is(engine: tsgen.Engine) -> None:
    terms = len(engine.generator.sets.vocabulary)
    expected = f"Engine(8 documents, {terms} terms, model mini-flat, in {engine.folder})"
    assert repr(engine) == expected


def test_documents_come_and_go(engine: tsgen.Engine) -> None:
    assert engine.add(["zebra grass", "vine and reed"]) == Changed(2, 0)
    assert engine["8"].text == "zebra grass"  # the next number that is no document's id
    assert engine["9"].text == "vine and reed"
    assert engine.remove("8") == 1
    assert engine.add(["sedge"]) == Changed(1, 0)
    assert {"9", "10"} <= {one.id for one in engine}
    assert engine.add([{"id": "d0", "text": "new"}, {"id": "x", "text": "y"}]) == Changed(1, 1)
    assert engine.update([tsgen.Document("x", "another y")]) == Changed(0, 1)
    with pytest.raises(UnknownDocumentError, match=r"does not have 'z'.*Nothing was changed"):
        engine.update(iter([tsgen.Document("x", "3"), tsgen.Document("z", "4")]))
    assert engine["x"].text == "another y"
    assert engine.remove(["9", "10", "x"]) == 3
    with pytest.raises(DataError, match="not in the collection: 'x'"):
        engine.remove(["x"])
    engine.compact()
    assert len(engine) == len(DOCUMENTS)


def test_a_temporary_folder_lives_as_long_as_the_engine(model: Path) -> None:
    engine = tsgen.index(TEXTS, model=model, preset="mini", settings=SETTINGS)
    folder = engine.folder
    assert (folder / "settings.json").is_file()
    del engine
    gc.collect()
    assert not folder.parent.exists()


def test_a_failed_index_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ConfigError):
        tsgen.index(TEXTS, model=tmp_path / "none", settings=SETTINGS)
    assert list(tmp_path.iterdir()) == []


def test_an_engine_in_a_folder_of_its_own(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "engine"
    settings = SETTINGS | {"decode": {"beam": 7}}
    options = {"model": model, "preset": "mini", "settings": settings, "cache": tmp_path / "cache"}
    with tsgen.index(TEXTS, out=out, **options) as engine:
        assert (engine.folder, engine.config.decode.beam) == (out, 7)
        engine.add([{"id": "new", "text": "moss"}])
    (tmp_path / "copy").mkdir()
    with tsgen.Engine.load(str(out)) as again:
        assert "new" in again
        again.save(tmp_path / "copy")
    assert "new" in tsgen.Engine.load(tmp_path / "copy")


def test_errors_say_what_to_do(model: Path, engine: tsgen.Engine) -> None:
    options = {"model": model, "preset": "mini", "settings": SETTINGS}
    with pytest.raises(DataError, match=r"Put a single text into a list: \[text\]"):
        tsgen.index("rye bread keeps a week", **options)
    with pytest.raises(DataError, match=r"Put a single text into a list: \[text\]"):
        engine.add("rye bread keeps a week")
    with pytest.raises(DataError, match="no documents"):
        tsgen.index([], **options)
    with pytest.raises(DataError, match="Put a single document into a list"):
        engine.add(tsgen.Document("x", "y"))
    with pytest.raises(ConfigError, match="trems"):
        tsgen.index(TEXTS, model=model, settings={"trems": {"n": 3}})
    with pytest.raises(ConfigError, match="unknown preset"):
        tsgen.index(TEXTS, model=model, preset="minni")


def test_fit_evaluate_and_calibrate(tmp_path: Path) -> None:
    queries = {f"q{i}": one.text for i, one in enumerate(DOCUMENTS)}
    judgments = {f"q{i}": {one.id: 1} for i, one in enumerate(DOCUMENTS)}
    engine = tsgen.fit(
        DOCUMENTS,
        out=tmp_path / "engine",
        queries=queries,
        judgments=judgments,
        validation=judgments,
        settings=SETTINGS | {"train": {"epochs": 1, "iterations": 1}},
        cache=tmp_path / "cache",
    )
    assert len(engine.search("moss", k=3)) == 3
    data = tsgen.load(write_judged(tmp_path / "data", queries, judgments))
    told = tsgen.evaluate(engine, data, split="dev")
    assert (
        told.rows[0].values == tsgen.evaluate(tmp_path / "engine", data, split="dev").rows[0].values
    )
    with pytest.raises(DataError, match="8 queries were answered; expected at least 20"):
        tsgen.calibrate(engine, data)


def write_judged(folder: Path, queries: dict[str, str], judgments: dict[str, Any]) -> Path:
    """A data set in BEIR's form, judged in the split dev."""
    (folder / "qrels").mkdir(parents=True)
    write_documents(folder / "corpus.jsonl", DOCUMENTS)
    lines = [f'{{"_id": "{id}", "text": "{text}"}}\n' for id, text in queries.items()]
    (folder / "queries.jsonl").write_text("".join(lines))
    rows = [
        f"{query}\t{id}\t{grade}\n" for query, g in judgments.items() for id, grade in g.items()
    ]
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    return folder


@pytest.mark.parametrize("before", ["", "import tsgen.evaluate.metrics\n"])
def test_every_public_name_is_there_in_a_fresh_process(before: str) -> None:
    code = f"{before}import tsgen; found = [getattr(tsgen, name) for name in tsgen.__all__]\n"
    code += "assert all(callable(one) for one in found if not isinstance(one, str)), found"
    subprocess.run([sys.executable, "-c", code], check=True)
