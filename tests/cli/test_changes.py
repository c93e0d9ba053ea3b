"""Adding, updating, removing and compacting from the command line; search, explain and inspect."""

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from living import DOCUMENTS, copied, write_documents, write_engine
from tsgen.cli.main import app
from tsgen.records import Document


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_engine(tmp_path_factory.mktemp("living"), DOCUMENTS)


@pytest.fixture
def engine(made: Path, tmp_path: Path) -> str:
    return str(copied(made, tmp_path / "engine"))


def invoke(*command: str) -> Result:
    return CliRunner().invoke(app, command)


def figures(*command: str) -> dict[str, object]:
    result = invoke(*command, "--json", "-")
    assert result.exit_code == 0, (result.output, result.exception)
    found: dict[str, object] = json.loads(result.stdout)
    return found


def refused(*command: str) -> str:
    result = invoke(*command)
    assert result.exit_code == 1
    return str(result.exception)


def inspected(engine: str) -> dict[str, object]:
    tokenizer = str(Path(engine) / "model/encoder/tokenizer.json")
    return figures("inspect", engine, "--tokenizer", tokenizer)


def test_from_add_to_compact(engine: str, tmp_path: Path) -> None:
    new = [
        Document("n1", "quartz in the moor", "Wyvern", {"year": 2019, "lang": "en"}),
        Document("n2", "zinnia", "Drake", {"year": 2021, "lang": "en"}),
        Document("d1", "a new version", "on lake"),
    ]
    added = figures("add", engine, str(write_documents(tmp_path / "new.jsonl", new)))
    assert (added["added"], added["updated"], added["documents"]) == (2, 1, 10)
    (answer,) = json.loads(
        invoke("search", engine, "wyvern", "--where", "year >= 2020", "--json", "-").stdout
    )
    assert [hit["document"] for hit in answer["hits"]] == ["n2"]
    assert answer["hits"][0]["metadata"] == {"year": 2021, "lang": "en"}
    assert "Wyvern" in invoke("explain", engine, "n1", "quartz wyvern").stdout
    removed = figures("remove", engine, "n1", "d2")
    assert (removed["removed"], removed["documents"]) == (2, 8)
    found = inspected(engine)
    assert (found["documents"], found["added"], found["removed"]) == (8, 2, 2)
    assert (found["unreachable"], found["problems"]) == (0, [])
    assert figures("compact", engine)["documents"] == 8
    found = inspected(engine)
    assert (found["documents"], found["added"], found["removed"]) == (8, 0, 0)
    assert "no such document" in refused("explain", engine, "n1", "quartz")


def test_update_takes_known_documents_only(engine: str, tmp_path: Path) -> None:
    documents = [Document("d1", "a new version"), Document("n1", "new")]
    path = str(write_documents(tmp_path / "new.jsonl", documents))
    assert "does not have 'n1'; expected ids of its documents" in refused("update", engine, path)
    path = str(write_documents(tmp_path / "new.jsonl", documents[:1]))
    assert figures("update", engine, path)["updated"] == 1


def test_unknown_ids_and_bad_filters(engine: str) -> None:
    assert "not in the collection: 'x'. Nothing was removed" in refused("remove", engine, "d1", "x")
    assert inspected(engine)["documents"] == 8
    assert "at character 6" in refused("search", engine, "moss", "--where", "year 2020")


def test_damage_is_found(engine: str, tmp_path: Path) -> None:
    new = write_documents(tmp_path / "new.jsonl", [Document("n1", "quartz")])
    figures("add", engine, str(new))
    store = Path(engine) / "collection.sqlite"
    with sqlite3.connect(store) as connection:
        connection.execute("DELETE FROM texts")
    connection.close()
    result = invoke("inspect", engine)
    assert result.exit_code == 1
    assert "1 documents without a text" in result.stdout
    store.write_bytes(b"no store at all" * 1000)
    for path in Path(engine).glob("collection.sqlite-*"):
        path.unlink()
    assert "expected a store that tsgen wrote" in refused("search", engine, "moss")
