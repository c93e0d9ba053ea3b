"""A folder of text files as a data set."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tsgen.artifact import MANIFEST, stage
from tsgen.cli.main import app
from tsgen.config import StageConfig
from tsgen.corpus.load import load
from tsgen.corpus.table_files import Columns
from tsgen.errors import DataError
from tsgen.records import Document

FILES = {
    "readme.MD": "# Kitchen\n\nAll recipes.",
    "bread/white bread.md": "---\ntitle: White bread\n---\nFlour, **salt**.",
    "bread/rye.rst": "Rye\n===\n\nDark.",
    "egg_white.txt": "Beat it.",
    "bread/photo.png": "no text",
    ".git/notes.md": "hidden",
    ".draft.md": "hidden",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "notes"


def test_every_text_file_is_a_document(folder: Path) -> None:
    data = load(folder)
    assert list(data.documents()) == [
        Document("bread/rye.rst", "Dark.", "Rye"),
        Document("bread/white bread.md", "Flour, salt.", "White bread"),
        Document("egg_white.txt", "Beat it.", "egg white"),
        Document("readme.MD", "All recipes.", "Kitchen"),
    ]
    assert (data.name, data.splits, data.queries()) == ("notes", [], {})


def test_the_fingerprint_follows_every_file(folder: Path) -> None:
    prints = [load(folder).fingerprint]
    (folder / "bread" / "photo.png").write_text("another")
    (folder / ".git" / "notes.md").write_text("another")
    assert load(folder).fingerprint == prints[0]
    (folder / "egg_white.txt").write_text("Beat it!")
    prints.append(load(folder).fingerprint)
    (folder / "egg_white.txt").rename(folder / "egg.txt")
    prints.append(load(folder).fingerprint)
    (folder / "bread" / "rye.rst").unlink()
    prints.append(load(folder).fingerprint)
    assert len(set(prints)) == 4


def test_what_tsgen_wrote_is_no_document(folder: Path) -> None:
    before = load(folder).fingerprint

    def work(made: Path) -> None:
        (made / "vocabulary.txt").write_text("bread")

    stage(folder / "engine", work, kind="tsgen", config=StageConfig(), inputs={})
    assert load(folder).fingerprint == before
    (folder / "bread" / MANIFEST).write_text('{"name": "a web page"}')
    assert load(folder).fingerprint == before


def test_a_file_that_is_not_utf8(folder: Path) -> None:
    (folder / "bread" / "old.txt").write_bytes(b"first\ncaf\xe9\n")
    with pytest.raises(DataError, match=r"bread/old\.txt:2: after 'caf' comes 0xe9.*--skip-bad"):
        list(load(folder).documents())
    data = load(folder, skip_bad=True)
    assert len(list(data.documents())) == 4
    assert data.problems.counts == {"invalid UTF-8": 1}


def test_a_name_that_is_not_utf8(folder: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).touch()
    except OSError:
        pytest.skip("this file system takes no such name")
    with pytest.raises(DataError, match=r"in the name of a file, after 'caf' comes 0xe9"):
        list(load(folder).documents())


def test_a_file_without_a_text_is_found_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "white-bread.md").touch()
    assert list(load(tmp_path).documents()) == [Document("white-bread.md", "", "white bread")]


def test_other_layouts_come_first(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# About")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "bread"}\n')
    assert [document.id for document in load(tmp_path).documents()] == ["d1"]


def test_columns_make_no_sense_here(folder: Path) -> None:
    with pytest.raises(DataError, match="text files have no columns"):
        load(folder, columns=Columns(id="x"))


def test_an_empty_folder_says_what_is_known(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Found: nothing\. Expected one of: .*BEIR.*text files"):
        load(tmp_path)


def test_with_queries_and_judgments_in_a_toml_file(folder: Path) -> None:
    (folder.parent / "q.jsonl").write_text('{"_id": "q1", "text": "dark"}\n')
    (folder.parent / "test.qrels").write_text("q1\tbread/rye.rst\t1\n")
    description = folder.parent / "set.toml"
    description.write_text(
        'documents = "notes"\nqueries = ["q.jsonl"]\n[judgments]\ntest = "test.qrels"\n'
    )
    data = load(description)
    assert data.judgments("test") == {"q1": {"bread/rye.rst": 1}}
    assert data.fingerprint == load(folder).fingerprint


def test_on_the_command_line(folder: Path) -> None:
    result = CliRunner().invoke(app, ["data", str(folder), "--json", "-"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (report["documents"], report["titles"]) == (4, 4)
