"""`tsgen compare` killed, interrupted, or on a full disk: started again, it ends the same."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from running import finish, start
from toy import write_beir
from tsgen.artifact import LOGS, MANIFEST, open_artifact

KILLS = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough documents and queries that indexing, searching and scoring each take a while."""
    rng = random.Random(1)
    words = [f"word{n}" for n in range(3000)]
    documents = {f"d{n}": " ".join(rng.choices(words, k=60)) for n in range(1000)}
    queries = {f"q{n}": " ".join(rng.choices(words, k=4)) for n in range(700)}
    judged = [(id, rng.choice(list(documents))) for id in queries]
    return write_beir(tmp_path_factory.mktemp("set") / "random", documents, queries, test=judged)


def compare(folder: Path, work: Path) -> tuple[Path, str, str, str, str]:
    return work, "compare", str(folder), "--cache", str(work / "cache")


def result(work: Path) -> dict[str, bytes]:
    """The table, and every file that was left, hidden ones too, but for times."""
    left = [path for path in (work / "cache").rglob("*") if path.is_file()]
    files = [work / "stdout", *(path for path in left if LOGS not in path.parts)]
    return {path.relative_to(work).as_posix(): path.read_bytes() for path in files}


def test_killed_at_random_moments(folder: Path, tmp_path: Path) -> None:
    assert finish(*compare(folder, tmp_path / "warm")) == 0
    started = time.monotonic()
    assert finish(*compare(folder, tmp_path / "undisturbed")) == 0
    duration = time.monotonic() - started
    expected = result(tmp_path / "undisturbed")
    assert "bm25" in expected["stdout"].decode()

    rng, killed = random.Random(), 0
    for number in range(KILLS):  # one moment in each tenth of the duration
        work = tmp_path / str(number)
        process = start(*compare(folder, work))
        process.join(duration * (number + rng.random()) / KILLS)
        process.kill()
        process.join()
        killed += process.exitcode == -signal.SIGKILL
        for manifest in (work / "cache").glob(f"*/[!.]*/{MANIFEST}"):
            open_artifact(manifest.parent)
        assert finish(*compare(folder, work)) == 0, (work / "stderr").read_text()
        assert result(work) == expected, f"killed in tenth {number} of {duration:.2f} s"
    assert killed >= KILLS // 2


def test_killed_again_and_again_in_one_cache(folder: Path, tmp_path: Path) -> None:
    assert finish(*compare(folder, tmp_path / "undisturbed")) == 0
    for tenths in (1, 2, 4):
        process = start(*compare(folder, tmp_path / "work"))
        process.join(tenths / 10)
        process.kill()
        process.join()
    assert finish(*compare(folder, tmp_path / "work")) == 0
    assert result(tmp_path / "work") == result(tmp_path / "undisturbed")


def test_full_disk_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    assert finish(*compare(folder, tmp_path), file_size=50_000) == 1
    error = (tmp_path / "stderr").read_text()
    assert error.startswith("error: ")
    assert "was not made. Check the path, its permissions and the free space" in error
    assert "Traceback" not in error
    assert result(tmp_path) == {"stdout": b""}
    assert finish(*compare(folder, tmp_path)) == 0


CTRL_C = """
import signal
from tsgen.cli.main import run
from tsgen.queries.lexical import LexicalIndex
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in background
LexicalIndex.build_each = lambda *_: signal.raise_signal(signal.SIGINT)
run()
"""


def test_ctrl_c_in_the_middle_of_a_stage(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CTRL_C, "compare", str(folder), "--cache", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert finish(*compare(folder, tmp_path)) == 0
