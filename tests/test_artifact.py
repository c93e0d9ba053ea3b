"""A stage's folder is complete or not there, whatever happens while it is made."""

import errno
import fcntl
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tsgen.arrays import ARRAYS
from tsgen.artifact import (
    LOGS,
    MANIFEST,
    hash_file,
    hash_strings,
    in_pieces,
    open_artifact,
    piece_files,
    read_manifest,
    remove_pieces,
    replaced_by,
    stage,
    write_beside,
)
from tsgen.config import StageConfig
from tsgen.errors import ArtifactError, DataError
from tsgen.integrity import block_checksums
from tsgen.progress import reporting


class Settings(StageConfig):
    size: int = 3


class Work:
    """Writes `size` pieces, going on from those it finds; remembers which it wrote."""

    def __init__(self, size: int = 3) -> None:
        self.size = size
        self.wrote: list[int] = []

    def __call__(self, folder: Path) -> None:
        for number in range(self.size):
            path = folder / "pieces" / f"{number}.txt"
            if not path.exists():
                self.wrote.append(number)
                with write_beside(path) as beside:
                    beside.write_text(f"piece {number}")


def make(folder: Path, work: Callable[[Path], None], size: int = 3, source: str = "a") -> None:
    stage(folder, work, kind="toy", config=Settings(size=size), inputs={"source": source}, seed=7)


def files(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def test_manifest_says_what_made_the_folder(tmp_path: Path) -> None:
    make(tmp_path / "out", Work(2), size=2)
    manifest = open_artifact(tmp_path / "out", kind="toy")
    assert (manifest.kind, manifest.config, manifest.inputs, manifest.seed) == (
        "toy",
        {"size": 2},
        {"source": "a"},
        7,
    )
    digest = hash_file(tmp_path / "out/pieces/0.txt")
    sums = block_checksums(tmp_path / "out/pieces/0.txt")
    assert manifest.files["pieces/0.txt"] == (7, digest, sums)
    assert set(manifest.files) == {"pieces/0.txt", "pieces/1.txt"}
    assert {"tsgen", "numpy", "torch"} <= set(manifest.versions)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_same_inputs_skip_the_work(tmp_path: Path) -> None:
    make(tmp_path / "out", Work())
    again = Work()
    make(tmp_path / "out", again)
    assert again.wrote == []


@pytest.mark.parametrize(("size", "source"), [(2, "a"), (3, "b")])
def test_other_settings_or_inputs_replace_the_folder(
    tmp_path: Path, size: int, source: str
) -> None:
    make(tmp_path / "out", Work())
    again = Work(size)
    make(tmp_path / "out", again, size=size, source=source)
    assert again.wrote == list(range(size))
    manifest = open_artifact(tmp_path / "out")
    assert (manifest.config["size"], manifest.inputs["source"]) == (size, source)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_interrupted_work_goes_on_from_its_pieces(tmp_path: Path) -> None:
    class Interrupted(Work):
        def __call__(self, folder: Path) -> None:
            Work(2)(folder)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "out", Interrupted())
    assert not (tmp_path / "out").exists()
    again = Work()
    make(tmp_path / "out", again)
    assert again.wrote == [2]


def test_pieces_of_other_inputs_are_not_used(tmp_path: Path) -> None:
    def interrupted(folder: Path) -> None:
        Work(2)(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "out", interrupted, source="a")
    again = Work()
    make(tmp_path / "out", again, source="b")
    assert again.wrote == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_half_written_piece_is_swept(tmp_path: Path) -> None:
    def killed_in_a_write(folder: Path) -> None:
        (folder / ".0.txt.99.partial").write_text("pie")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "out", killed_in_a_write)
    make(tmp_path / "out", Work())
    assert set(files(tmp_path / "out")) == {MANIFEST, *(f"pieces/{n}.txt" for n in range(3))}


def test_neighbour_with_a_similar_name_keeps_its_pieces(tmp_path: Path) -> None:
    def interrupted(folder: Path) -> None:
        Work(2)(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "out.b", interrupted)
    make(tmp_path / "out", Work())
    again = Work()
    make(tmp_path / "out.b", again)
    assert again.wrote == [2]


def test_lock_that_was_removed_meanwhile_is_not_trusted(tmp_path: Path) -> None:
    path, held, told = tmp_path / ".out.lock", [], 0

    def take() -> None:
        held.append(path.open("w"))
        fcntl.flock(held[-1], fcntl.LOCK_EX)

    def waiting(what: str, *_: object) -> None:
        nonlocal told
        told += 1
        if told == 1:  # the holder ends, and a third process is quicker to take a new lock
            path.unlink()
            take()
        held.pop(0).close()

    take()
    with reporting(waiting):
        make(tmp_path / "out", Work())
    assert told == 2


def test_a_stage_killed_inside_a_stage_resumes(tmp_path: Path) -> None:
    inner = Work()

    def killed(folder: Path) -> None:
        Work(2)(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "out", lambda folder: make(folder / "inner", killed))
    make(tmp_path / "out", lambda folder: make(folder / "inner", inner))
    assert inner.wrote == [2]


def test_a_stage_inside_a_stage_is_made_once(tmp_path: Path) -> None:
    inner = Work()
    outer_wrote: list[str] = []

    def outer(folder: Path) -> None:
        make(folder / "inner", inner)
        if not outer_wrote:
            outer_wrote.append("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "out", outer)
    make(tmp_path / "out", outer)
    assert inner.wrote == [0, 1, 2]
    open_artifact(tmp_path / "out" / "inner")
    assert "inner/manifest.json" in open_artifact(tmp_path / "out").files


@pytest.mark.parametrize("error", [DataError("bad line"), OSError(errno.ENOSPC, "No space left")])
def test_failed_work_leaves_nothing(tmp_path: Path, error: Exception) -> None:
    def fail(folder: Path) -> None:
        Work(2)(folder)
        raise error

    with pytest.raises((DataError, ArtifactError), match=r"bad line|No space left"):
        make(tmp_path / "out", fail)
    assert list(tmp_path.iterdir()) == []


def test_full_disk_while_the_manifest_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "manifest")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ArtifactError, match=r"No space left on device.*was not made.*free space"):
        make(tmp_path / "out", lambda folder: None)
    assert list(tmp_path.iterdir()) == []


def test_target_below_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match=r"was not made\. Check the path"):
        make(tmp_path / "file" / "out", Work())


def test_foreign_folder_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.tex").write_text("mine")
    with pytest.raises(ArtifactError, match=r"out: no manifest\.json; expected a folder"):
        make(tmp_path / "out", Work())
    assert files(tmp_path) == {"out/thesis.tex": "mine"}


def test_folder_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    make(tmp_path / "out", Work())
    with pytest.raises(ArtifactError, match="holds 'toy', expected 'other'"):
        stage(tmp_path / "out", Work(), kind="other", config=Settings(), inputs={})
    assert open_artifact(tmp_path / "out").kind == "toy"


def test_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    make(tmp_path / "out", Work())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_relative_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    make(Path(), Work())
    assert open_artifact(tmp_path / "here").kind == "toy"


def damage(folder: Path, how: str) -> None:
    path = folder / "pieces/1.txt"
    match how:
        case "missing":
            path.unlink()
        case "shorter":
            path.write_text("pie")
        case "changed":
            path.write_text("PIECE 1")


@pytest.mark.parametrize(
    ("how", "message"),
    [("missing", "missing"), ("shorter", "3 bytes, the manifest says 7"), ("changed", "differs")],
)
def test_damaged_file_is_named(tmp_path: Path, how: str, message: str) -> None:
    make(tmp_path / "out", Work())
    damage(tmp_path / "out", how)
    for check in (open_artifact, lambda folder: make(folder, Work())):
        with pytest.raises(ArtifactError, match=rf"out/pieces/1\.txt.*{message}.*Move .*out away"):
            check(tmp_path / "out")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "x"}', "\x00"])
def test_unreadable_manifest_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(ArtifactError, match=r"manifest\.json: not a readable manifest"):
        read_manifest(tmp_path)


def test_newer_format_asks_for_an_upgrade(tmp_path: Path) -> None:
    values = {"format": 4, "versions": {"tsgen": "9.0"}, "something": "new"}
    (tmp_path / MANIFEST).write_text(json.dumps(values))
    with pytest.raises(ArtifactError, match=r"format 4 made by tsgen 9\.0.*install -U tsgen-ir"):
        read_manifest(tmp_path)


def test_older_format_is_refused_with_the_command_that_makes_it_again(tmp_path: Path) -> None:
    values = {"format": 1, "versions": {"tsgen": "0.1"}}
    (tmp_path / MANIFEST).write_text(json.dumps(values))
    with pytest.raises(
        ArtifactError, match=r"format 1 made by tsgen 0\.1.*index DATA --out .*-new"
    ):
        read_manifest(tmp_path)


class Doubling:
    """Doubles numbers; fails at one of them, and counts what it was asked."""

    def __init__(self, fails_at: int = -1) -> None:
        self.asked: list[int] = []
        self._fails_at = fails_at

    def __call__(self, piece: Sequence[int], first: int) -> list[tuple[int, int]]:
        assert piece[0] == first
        for number in piece:
            if number == self._fails_at:
                raise KeyboardInterrupt
            self.asked.append(number)
        return [(number, 2 * number) for number in piece]


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_pieces_go_on_after_the_last_finished_one(tmp_path: Path, size: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        list(in_pieces(range(5), Doubling(3), tmp_path, size))
    again = Doubling()
    found = [row for rows in in_pieces(range(5), again, tmp_path, size) for row in rows]
    assert found == [[0, 0], [1, 2], [2, 4], [3, 6], [4, 8]]
    assert again.asked == list(range(3 // size * size, 5))
    assert len(piece_files(tmp_path)) == -(-5 // size)
    remove_pieces(tmp_path)
    assert not list(tmp_path.iterdir())


def test_pieces_of_arrays_beside_pieces_of_lines(tmp_path: Path) -> None:
    def squares(piece: Sequence[int], first: int) -> dict[str, object]:
        return {"squares": np.square(piece)}

    list(in_pieces(range(4), Doubling(), tmp_path, 2))
    found = list(in_pieces(range(4), squares, tmp_path, 3, "arrays", ARRAYS))
    assert [piece["squares"].tolist() for piece in found] == [[0, 1, 4], [9]]
    remove_pieces(tmp_path, "arrays")
    assert [path.name for path in piece_files(tmp_path)] == [
        "piece-000000.jsonl",
        "piece-000001.jsonl",
    ]


def test_hash_strings_keeps_parts_apart() -> None:
    assert hash_strings("ab", "c") != hash_strings("a", "bc")


def test_write_beside_keeps_the_old_file_on_failure(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    with write_beside(path) as beside:
        beside.write_text("old")

    def fail() -> None:
        with write_beside(path) as beside:
            beside.write_text("ne")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert files(tmp_path) == {"deep/file.txt": "old"}


def run_and_die(folder: Path, at_event: int) -> bool:
    """Make the folder in a forked process that dies, as by SIGKILL, before its n-th change or
    opening of a file; False if it ended before that."""
    child = os.fork()
    if child == 0:
        events = 0

        def hook(event: str, args: tuple[object, ...]) -> None:
            nonlocal events
            if event in {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}:
                events += 1
                if events == at_event:
                    os._exit(9)

        sys.addaudithook(hook)
        make(folder, Work())
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork beside the runner's threads
@pytest.mark.parametrize("before", ["nothing", "another folder"])
def test_killed_at_every_step(tmp_path: Path, before: str) -> None:
    make(tmp_path / "undisturbed" / "out", Work())
    expected = files(tmp_path / "undisturbed")
    at_event, died = 0, True
    while died:
        at_event += 1
        parent = tmp_path / str(at_event)
        if before == "another folder":
            make(parent / "out", Work(1), size=1)
        died = run_and_die(parent / "out", at_event)
        if (parent / "out").exists():
            open_artifact(parent / "out")
        assert (parent / "out").exists() or before == "nothing", f"lost before event {at_event}"
        make(parent / "out", Work())
        assert files(parent) == expected, f"killed before event {at_event}"
    assert at_event > 15


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_killed_at_every_step_where_names_cannot_trade_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tsgen.artifact.exchange", lambda *_: False)
    make(tmp_path / "undisturbed" / "out", Work())
    expected = files(tmp_path / "undisturbed")
    at_event, died, waiting = 0, True, 0
    while died:
        at_event += 1
        parent = tmp_path / str(at_event)
        make(parent / "out", Work(1), size=1)
        old = files(parent / "out")
        died = run_and_die(parent / "out", at_event)
        if not (parent / "out").exists():
            (left,) = replaced_by(parent / "out")
            assert files(left) == old
            with pytest.raises(ArtifactError, match="run that command again"):
                open_artifact(parent / "out")
            waiting += 1
        make(parent / "out", Work())
        assert files(parent) == expected, f"killed before event {at_event}"
    assert waiting == 1


def test_what_others_put_beside_is_left_alone(tmp_path: Path) -> None:
    make(tmp_path / "out", Work(1), size=1)
    (tmp_path / ".out.old").mkdir()
    (tmp_path / ".out.old" / "thesis.tex").write_text("mine")
    make(tmp_path / "out", Work())
    assert files(tmp_path / ".out.old") == {"thesis.tex": "mine"}


def test_places_where_no_folder_can_be(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="the root of the file system"):
        make(Path("/"), Work())
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")
    with pytest.raises(ArtifactError, match="Choose another folder"):
        make(tmp_path / "one", Work())


def _slow_make(folder: Path, log: Path) -> None:
    def work(partial: Path) -> None:
        with log.open("a") as file:
            file.write("start ")
            file.flush()
            time.sleep(0.3)
            file.write("end ")

    make(folder, work)


def test_waiting_for_another_process_is_told(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    log, told = tmp_path / "log", []
    process = spawn.Process(target=_slow_make, args=(tmp_path / "out", log))
    process.start()
    while not log.exists():
        time.sleep(0.005)
    with reporting(lambda what, *_: told.append(what)):
        make(tmp_path / "out", Work())
    process.join()
    assert told == ["waiting for another process that makes out"]
    assert log.read_text() == "start end "


def test_two_processes_make_it_once(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    log = tmp_path / "log"
    processes = [spawn.Process(target=_slow_make, args=(tmp_path / "out", log)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert log.read_text() == "start end "
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "out"]


def test_logs_are_kept_but_not_part_of_it(tmp_path: Path) -> None:
    def work(folder: Path) -> None:
        (folder / "data").write_text("1")
        (folder / "part" / LOGS).mkdir(parents=True)
        (folder / "part" / LOGS / "time").write_text("12:30")

    manifest = stage(tmp_path / "out", work, kind="k", config=StageConfig(), inputs={})
    assert set(manifest.files) == {"data"}
    (tmp_path / "out" / "part" / LOGS / "time").write_text("12:31")
    assert open_artifact(tmp_path / "out") == manifest
