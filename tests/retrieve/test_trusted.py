"""An engine may hold the only copy of documents: damage is told, nothing is lost, nothing stays."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from living import DOCUMENTS, PLANTS, write_engine
from tsgen import artifact
from tsgen.errors import ArtifactError, DataError, TsgenError
from tsgen.records import Document
from tsgen.retrieve.engine import Engine

NEW = Document("new", "a moss on the moor near Zanzibar", "Quixote")


def flipped(path: Path, place: int = -1) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def changed(folder: Path) -> Path:
    """The engine with a document added and one removed."""
    with Engine.load(folder) as engine:
        engine.add([NEW])
        engine.remove(["d1"])
    return folder


def compacted(folder: Path) -> Path:
    """The same after a compaction."""
    with Engine.load(changed(folder)) as engine:
        engine.compact()
    return folder


def command(*words: str) -> "subprocess.CompletedProcess[str]":
    """What the command line prints and returns."""
    return subprocess.run(
        [sys.executable, "-m", "tsgen", *words], capture_output=True, text=True, check=False
    )


# Damage after a compaction, and without a manifest.


def test_a_damaged_offset_of_a_compacted_engine_is_told_and_does_not_crash(folder: Path) -> None:
    (path,) = compacted(folder).glob("base-*/terms/post_offsets.npy")
    flipped(path, -2)
    found = command("search", str(folder), "moss")
    assert found.returncode == 1, found
    assert "post_offsets.npy" in found.stderr
    assert "Traceback" not in found.stderr


def test_a_changed_text_of_a_compacted_engine_is_never_shown(folder: Path) -> None:
    (path,) = compacted(folder).glob("base-*/documents.jsonl")
    path.write_bytes(path.read_bytes().replace(b"Zanzibar", b"Zanzibat"))
    with Engine.load(folder) as engine:
        with pytest.raises(ArtifactError, match="not what was written"):
            engine.document("new")
        assert engine.document("d2") == DOCUMENTS[2]  # others can be had


def test_every_array_is_checked_although_it_is_consistent(folder: Path) -> None:
    for path in sorted(compacted(folder).glob("base-*/terms/*.npy")):
        before = path.read_bytes()
        flipped(path)
        with pytest.raises(ArtifactError, match=path.name):
            Engine.load(folder)
        path.write_bytes(before)
    Engine.load(folder).close()


def test_without_its_manifest_an_engine_is_refused(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    with pytest.raises(ArtifactError, match=r"manifest\.json"):
        Engine.load(folder)


def test_rows_of_the_store_have_checksums(folder: Path) -> None:
    changed(folder)
    with sqlite3.connect(folder / "collection.sqlite") as store:
        store.execute("UPDATE texts SET text = 'a moss on the moor near Zanzibat'")
    store.close()
    with Engine.load(folder) as engine, pytest.raises(ArtifactError, match="not what was written"):
        engine.document("new")


def test_rows_that_are_missing_from_the_store_are_told(folder: Path) -> None:
    changed(folder)
    with sqlite3.connect(folder / "collection.sqlite") as store:
        store.execute("DELETE FROM removed")
    store.close()
    with pytest.raises(ArtifactError, match="rows are missing"):
        Engine.load(folder)


# One folder, one engine.


def test_a_replaced_folder_is_noticed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = write_engine(tmp_path / "other", DOCUMENTS[:3])
    with Engine.load(folder) as engine:
        shutil.rmtree(folder)
        shutil.copytree(other, folder)
        for use in (
            lambda: engine.add([NEW]),
            lambda: engine.remove(["d1"]),
            lambda: engine.search("moss"),
            lambda: len(engine),
        ):
            with pytest.raises(ArtifactError, match="replaced or removed"):
                use()


def test_a_removed_folder_is_noticed(folder: Path) -> None:
    with Engine.load(folder) as engine:
        shutil.rmtree(folder)
        with pytest.raises(ArtifactError, match="replaced or removed"):
            engine.add([NEW])


def test_a_served_folder_is_not_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsgen.owner.PATIENCE", 0.1)
    monkeypatch.setattr("tsgen.owner.alone.__wrapped__.__defaults__", (0.1,))
    with Engine.load(folder) as engine:
        engine.hold()
        with pytest.raises(ArtifactError, match="serves or changes it"):
            write_engine(folder.parent, DOCUMENTS[:3])
        engine.add([NEW])
        assert "new" in engine
    assert write_engine(folder.parent, DOCUMENTS[:3]) == folder
    assert len(Engine.load(folder)) == 3


@pytest.mark.parametrize("how", ["missing", "empty", "older"])
def test_a_lost_store_does_not_read_as_never_changed(folder: Path, how: str) -> None:
    store = folder / "collection.sqlite"
    with Engine.load(folder) as engine:
        engine.add([Document("first", "moss")])
    before = store.read_bytes()
    changed(folder)
    match how:
        case "missing":
            store.unlink()
        case "empty":
            store.write_bytes(b"")
        case "older":
            store.write_bytes(before)
    with pytest.raises(ArtifactError, match="changes"):
        Engine.load(folder)


# Replacing and advising.


def test_no_advice_to_remove_what_may_be_the_only_copy(folder: Path) -> None:
    flipped(folder / "terms" / "doc_terms.npy")
    with pytest.raises(ArtifactError) as told:
        Engine.load(folder)
    assert "Remove" not in str(told.value)
    assert "tsgen repair" in str(told.value)


def test_files_that_a_compaction_takes_away_are_no_damage(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first compaction may take the base's files out of the manifest after it was read."""
    read, name = artifact.read_manifest, "lexicon.json"

    def interrupted(where: Path) -> artifact.Manifest:
        found = read(where)
        if name in found.files:
            monkeypatch.setattr(artifact, "read_manifest", read)
            artifact.forget(folder, [name])
        return found

    monkeypatch.setattr(artifact, "read_manifest", interrupted)
    assert name not in artifact.open_artifact(folder, "tsgen").files


# Nothing stays.


def files_with(folder: Path, *words: str) -> list[str]:
    """The files that have one of the words in their bytes."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    texts = [(path, path.read_bytes().lower()) for path in found]
    return [f"{w} in {p}" for p, text in texts for w in words if w.lower().encode() in text]


def test_an_erased_document_leaves_no_trace(folder: Path) -> None:
    words = ("quixot", "zanzibar", "secretid")
    with Engine.load(folder) as engine:
        engine.add([Document("secretid", NEW.text, NEW.title)])
        assert files_with(folder, *words)
        engine.compact()
        engine.add([Document("other", "zanzibar and moss")])
        engine.remove(["other"])
        assert engine.erase("secretid")
        assert files_with(folder, *words) == []
        assert {document.id for document in engine} == {one.id for one in DOCUMENTS}
        assert engine.search("moss", 3)
        engine.add([NEW])  # its words are new ones again
        assert engine.document("new") == NEW
        assert engine.search("Zanzibar", 9)
    assert files_with(folder, "zanzibar")


def test_an_erased_document_of_the_first_base_leaves_no_trace(tmp_path: Path) -> None:
    folder = write_engine(tmp_path, [*DOCUMENTS, Document("secretid", NEW.text, NEW.title)])
    words = ("quixot", "zanzibar", "secretid")
    assert files_with(folder, *words)
    with Engine.load(folder) as engine:
        assert engine.erase(["secretid"])
    assert files_with(folder, *words) == []
    with Engine.load(folder) as engine:
        assert len(engine) == len(DOCUMENTS)
        engine.add([Document("later", "moss")])
        engine.compact()  # keeps the model and the weights that know nothing
    assert files_with(folder, *words) == []
    assert Engine.load(folder).search("moss", 1)


def test_compacting_forgets_removed_words(folder: Path) -> None:
    with Engine.load(folder) as engine:
        engine.add([NEW])
        engine.compact()
        assert engine.documents.lexicon.nearest("zanzibat") == "zanzibar"
        engine.remove(["new"])
        assert engine.documents.lexicon.nearest("zanzibat") is None
        engine.compact()
        assert engine.documents.lexicon.nearest("zanzibat") is None
        assert all(plant in engine.documents.lexicon for plant in PLANTS[:8])
    assert not files_with(folder / next(folder.glob("base-*")).name, "zanzibar")


def test_a_killed_compaction_is_finished_by_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(folder)
    with monkeypatch.context() as killed, Engine.load(folder) as engine:
        killed.setattr("tsgen.retrieve.snapshot._remove_old", lambda *_: os.kill)
        engine.compact()
    assert (folder / "documents.jsonl").exists()
    with Engine.load(folder) as engine:
        engine.compact()  # nothing has changed since
    assert not (folder / "documents.jsonl").exists()
    assert not files_with(folder, DOCUMENTS[1].text)


# Other promises.


def test_an_engine_on_a_disk_that_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(folder)
    monkeypatch.setattr(os, "access", lambda *_: False)
    before = {path.name for path in folder.iterdir()}
    with Engine.load(folder) as engine:
        assert "new" in engine
        assert "d1" not in engine
        assert engine.search("moss")
        assert {path.name for path in folder.iterdir()} == before  # no -shm, no -wal
        with pytest.raises(TsgenError, match="readonly"):
            engine.remove(["d2"])


def test_adding_says_what_was_added_before_it_failed(folder: Path) -> None:
    rows: list[object] = [{"id": f"n{i}", "text": f"moss {i}"} for i in range(5)]
    with Engine.load(folder) as engine:
        with pytest.raises(DataError, match=r"4 documents were added and 0 replaced"):
            engine.add([*rows, {"id": "bad"}], together=2)  # type: ignore[list-item]
        assert len(engine) == len(DOCUMENTS) + 4


def test_files_can_be_read_by_whoever_may_read_new_files(folder: Path) -> None:
    mode = (folder / "manifest.json").stat().st_mode
    assert {path.stat().st_mode for path in (folder / "model").rglob("*.*")} == {mode}
