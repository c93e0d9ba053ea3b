"""`check`, `repair`, `backup` and `restore`; and damage of every file of three kinds of engines."""

import json
import random
import shutil
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from living import DOCUMENTS, copied
from tsgen.cli.main import app
from tsgen.errors import ArtifactError, TsgenError
from tsgen.records import Document
from tsgen.retrieve import backup as backup_module
from tsgen.retrieve.backup import backup, restore
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.repair import check, repair

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from chaos_kit.damage import HOWS, damage, files_of

NEW = Document("new", "a moss on the moor near Zanzibar", "Quixote", {"year": 2020})
STATES = ("fresh", "changed", "compacted")


@pytest.fixture(scope="module")
def engines(engine: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An engine as it was made, one that was changed, and one that was compacted and changed."""
    work = tmp_path_factory.mktemp("states")
    found = {state: work / state for state in STATES}
    copied(engine, found["fresh"])
    copied(engine, found["changed"])
    with Engine.load(found["changed"]) as opened:
        opened.add([NEW, Document("other", "fern and moss")])
        opened.remove(["d1"])
    copied(found["changed"], found["compacted"])
    with Engine.load(found["compacted"]) as opened:
        opened.compact()
        opened.add([Document("third", "oak")])
        opened.remove(["other"])
    return found


def texts(folder: Path) -> dict[str, str]:
    with Engine.load(folder) as engine:
        return {one.id: one.text for one in engine}


def figures(*words: str) -> dict[str, object]:
    result = CliRunner().invoke(app, [*words, "--json", "-"])
    assert result.exit_code == 0, (result.output, result.exception)
    found: dict[str, object] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("state", STATES)
def test_a_copy_has_all_of_an_engine(engines: dict[str, Path], tmp_path: Path, state: str) -> None:
    engine, file, back = str(engines[state]), str(tmp_path / "a.tar"), str(tmp_path / "back")
    assert figures("backup", engine, file)["files"]
    assert figures("restore", file, back)["engine"] == back
    assert figures("check", back)["problems"] == []
    assert texts(Path(back)) == texts(engines[state])
    assert set(files_of(Path(back))) == set(files_of(engines[state]))
    with Engine.load(back) as opened:
        opened.add([Document("later", "moss")])
        opened.compact()
        assert "later" in opened


def test_copies_while_it_is_changed_and_compacted(engines: dict[str, Path], tmp_path: Path) -> None:
    folder, end = copied(engines["changed"], tmp_path / "engine"), threading.Event()

    def work() -> None:
        with Engine.load(folder) as engine:
            number = 0
            while not end.is_set():
                engine.add([Document(f"n{number}", f"moss {number}")])
                engine.compact()
                number += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for turn in range(5):
            backup(folder, tmp_path / f"{turn}.tar")
            restore(tmp_path / f"{turn}.tar", tmp_path / f"back-{turn}")
            assert "new" in texts(tmp_path / f"back-{turn}")
    finally:
        end.set()
        thread.join()


def test_a_base_that_goes_while_it_is_copied_is_left_for_the_next(
    engines: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, now = copied(engines["compacted"], tmp_path / "engine"), backup_module._base
    seen = [999]  # the base as it was a moment ago, whose folder a compaction has taken away
    monkeypatch.setattr(backup_module, "_base", lambda each: seen.pop() if seen else now(each))
    backup(folder, tmp_path / "copy.tar")
    restore(tmp_path / "copy.tar", tmp_path / "back")
    assert not check(tmp_path / "back").problems


def test_what_is_there_is_not_replaced_by_a_copy(engines: dict[str, Path], tmp_path: Path) -> None:
    folder = copied(engines["fresh"], tmp_path / "engine")
    backup(folder, tmp_path / "a.tar")
    with pytest.raises(ArtifactError, match="is there already"):
        restore(tmp_path / "a.tar", folder)


@pytest.mark.parametrize("how", ["a bit", "shorter", "empty", "missing"])
def test_a_damaged_copy_is_refused(engines: dict[str, Path], tmp_path: Path, how: str) -> None:
    file = tmp_path / "a.tar"
    backup(engines["changed"], file)
    rng = random.Random(4)
    whole = texts(engines["changed"])
    for _ in range(5):
        damage(file, how, rng)
        try:
            restore(file, tmp_path / "back")
        except ArtifactError:
            assert not (tmp_path / "back").exists()
        else:  # the bit was in the padding of the archive
            assert texts(tmp_path / "back") == whole
            shutil.rmtree(tmp_path / "back")
        assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []
        backup(engines["changed"], file)


def test_a_damaged_engine_is_not_copied(engines: dict[str, Path], tmp_path: Path) -> None:
    folder = copied(engines["fresh"], tmp_path / "engine")
    damage(folder / "documents.jsonl", "a bit", random.Random(0))
    with pytest.raises(ArtifactError, match=r"documents\.jsonl: is damaged"):
        backup(folder, tmp_path / "a.tar")
    assert not (tmp_path / "a.tar").exists()


@pytest.mark.parametrize("state", STATES)
def test_no_damage_crashes_or_answers_wrongly_and_what_is_left_is_kept(
    engines: dict[str, Path], tmp_path: Path, state: str
) -> None:
    rng, whole = random.Random(1), texts(engines[state])
    for name in files_of(engines[state]):
        folder = copied(engines[state], tmp_path / "engine")
        damage(folder / name, rng.choice(HOWS), rng)
        told = []
        try:
            with Engine.load(folder) as engine:
                for one in whole:
                    try:
                        assert engine.document(one).text == whole[one], name
                    except TsgenError as error:
                        told.append(str(error))
        except TsgenError as error:
            told.append(str(error))
        problems = check(folder).problems
        assert bool(problems) >= bool(told), name
        if rng.random() > 0.15:
            shutil.rmtree(folder)
            continue
        found = repair(folder)
        assert check(folder).problems == [], name
        kept = texts(folder)
        assert all(whole.get(id, text) == text for id, text in kept.items()), name
        assert len(kept) >= len(whole) or found.lost, name
        assert bool(problems) == (found.damaged is not None), name
        shutil.rmtree(folder)
        for left in tmp_path.glob("engine.damaged-*"):
            shutil.rmtree(left)


def test_check_and_repair_say_what_is_damaged_and_lost(
    engines: dict[str, Path], tmp_path: Path
) -> None:
    folder = copied(engines["changed"], tmp_path / "engine")
    line = (folder / "documents.jsonl").read_bytes()
    (folder / "documents.jsonl").write_bytes(line.replace(b"grow 3", b"grow 8"))
    checked = CliRunner().invoke(app, ["check", str(folder)])
    assert checked.exit_code == 1
    assert "documents.jsonl: its content differs" in checked.stdout
    told = CliRunner().invoke(app, ["repair", str(folder)])
    assert told.exit_code == 0
    assert "lost: document d3: its text is damaged" in told.stdout
    assert texts(folder).keys() == texts(engines["changed"]).keys() - {"d3"}
    assert (tmp_path / "engine.damaged-1" / "documents.jsonl").exists()
    assert CliRunner().invoke(app, ["check", str(folder)]).exit_code == 0
    assert "nothing is damaged" in CliRunner().invoke(app, ["repair", str(folder)]).stdout


def test_a_lost_store_gives_back_the_base(engines: dict[str, Path], tmp_path: Path) -> None:
    folder = copied(engines["changed"], tmp_path / "engine")
    (folder / "collection.sqlite").unlink()
    found = repair(folder)
    assert any("what was added" in one for one in found.lost)
    assert texts(folder) == {one.id: one.text for one in DOCUMENTS}


@pytest.mark.parametrize(
    "name", ["documents.jsonl", "manifest.json", "terms/keys.npy", "../manifest.json"]
)
def test_a_compacted_engine_is_repaired(
    engines: dict[str, Path], tmp_path: Path, name: str
) -> None:
    folder = copied(engines["compacted"], tmp_path / "engine")
    (base,) = folder.glob("base-*")
    whole = texts(folder)
    (base / name).unlink()
    with pytest.raises(ArtifactError, match=r"tsgen repair .*engine` keeps"):
        Engine.load(folder)
    found = repair(folder)
    if name == "documents.jsonl":
        assert texts(folder).keys() == {"third"}
        assert len([one for one in found.lost if "is damaged" in one]) == len(whole) - 1
    else:
        assert texts(folder) == whole
        assert found.lost == []


def test_erasing_by_command(engines: dict[str, Path], tmp_path: Path) -> None:
    folder = copied(engines["changed"], tmp_path / "engine")
    assert figures("erase", str(folder), "new")["complete"] is True
    assert not any(b"Zanzibar" in path.read_bytes() for path in folder.rglob("*.*"))
    assert CliRunner().invoke(app, ["erase", str(folder), "nobody"]).exit_code == 1


def test_the_checksums_cost_little(engines: dict[str, Path], tmp_path: Path) -> None:
    """The texts, most of an engine's bytes, are not read when it is opened."""
    folder = copied(engines["fresh"], tmp_path / "engine")
    damage(folder / "documents.jsonl", "a bit", random.Random(0))
    with Engine.load(folder) as engine:
        assert len(engine) == len(DOCUMENTS)
    assert check(folder).problems
