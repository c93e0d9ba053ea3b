"""`tsgen fit` killed in every stage, at any moment, or on a full disk makes the same engine."""

import json
import random
import signal
import time
from pathlib import Path

import pytest

from fitted import settings, write_bert, write_foods
from running import finish, start
from tsgen.artifact import open_artifact

MOMENTS = [  # when a file or folder of this name is finished, in the order of the stages
    "*/.trained-weigher-*.partial/best.safetensors",
    "*/.trained-weigher-*.partial/learning_curve.jsonl",
    "*/.trained-weigher-*.partial/weigher.safetensors",
    "*/trained-weigher-????????????",
    "*/.weighed-*.partial/*.npz",
    "*/.terms-*.partial/manifest.json",
    "*/terms-????????????",
    "*/.written-queries-*.partial/written.jsonl",
    "*/written-queries-????????????",
    "*/.queries-*.partial/counts.json",
    "*/queries-????????????",
    "*/.iteration-1-*.partial/best.safetensors",
    "*/.iteration-1-*.partial/checkpoint.safetensors",
    "*/.iteration-1-*.partial/learning_curve.jsonl",
    "*/.iteration-1-*.partial/model/*",
    "*/iteration-1-????????????",
    "*/.iteration-2-*.partial/favourites-*.npz",
    "*/.iteration-2-*.partial/checkpoint.safetensors",
    "*/.iteration-2-*.partial/manifest.json",
    "*/.engine.*.partial/model/*",
    "*/.engine.*.partial/manifest.json",
    "*/engine",
    "*/figures.json",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_foods(folder / "set", "train", "dev")
    write_bert(folder / "bert")
    return folder


@pytest.fixture(scope="module")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[float, Path]:
    """An engine made without any disturbance, and how long that took."""
    work = tmp_path_factory.mktemp("undisturbed")
    assert finish(*fit(data, tmp_path_factory.mktemp("warm"))) == 0
    started = time.monotonic()
    assert finish(*fit(data, work)) == 0, (work / "stderr").read_text()
    return time.monotonic() - started, work


def fit(data: Path, work: Path) -> tuple[Path, ...]:
    chosen = [
        *settings(data / "bert", epochs=10),
        "terms.weights=learned",
        "queries.writer=extractive",
        "queries.n=2",
        f"weigher.model.encoder={data / 'bert'}",
        "weigher.model.window=16",
        "weigher.model.overlap=4",
        "weigher.training.window=16",
        "weigher.training.epochs=3",
        "weigher.training.validate_every=2",
        "train.validate_every=4",
    ]
    flags = [part for one in chosen for part in ("--set", one)]
    places = ["--out", work / "engine", "--cache", work / "cache", "--json", work / "figures.json"]
    return (work, "fit", str(data / "set"), "--preset", "tiny", *map(str, places), *flags)


def same(work: Path, expected: Path) -> None:
    """The figures and every file of the engine are those of the undisturbed run; nothing else is
    left in the cache."""
    figures = [json.loads((each / "figures.json").read_text()) for each in (work, expected)]
    assert figures[0]["rows"] == figures[1]["rows"]
    files = [
        {
            path.relative_to(each / "engine").as_posix(): path.read_bytes()
            for path in (each / "engine").rglob("*")
            if path.is_file()
        }
        for each in (work, expected)
    ]
    assert files[0].keys() == files[1].keys()
    for name in files[0]:
        assert files[0][name] == files[1][name], name
    open_artifact(work / "engine")
    folders = [{path.name for path in (each / "cache").glob("*/*")} for each in (work, expected)]
    assert folders[0] == folders[1]


def test_killed_in_every_stage(data: Path, undisturbed: tuple[float, Path], tmp_path: Path) -> None:
    for moment in MOMENTS:
        assert finish(*fit(data, tmp_path), kill_at=moment) == -signal.SIGKILL, moment
    assert finish(*fit(data, tmp_path)) == 0, (tmp_path / "stderr").read_text()
    same(tmp_path, undisturbed[1])


def test_killed_at_random_moments_until_it_is_done(
    data: Path, undisturbed: tuple[float, Path], tmp_path: Path
) -> None:
    duration, expected = undisturbed
    rng, exit_code = random.Random(), None
    while exit_code is None:
        process = start(*fit(data, tmp_path))
        process.join(duration * rng.uniform(0.1, 0.6))
        exit_code = process.exitcode
        process.kill()
        process.join()
        duration *= 1.1  # a machine that has become slower shall get there, too
    assert exit_code == 0, (tmp_path / "stderr").read_text()
    same(tmp_path, expected)


@pytest.mark.parametrize("size", [50_000, 300_000])  # of a file: too small for weights, for moments
def test_full_disk(data: Path, undisturbed: tuple[float, Path], tmp_path: Path, size: int) -> None:
    assert finish(*fit(data, tmp_path), file_size=size) == 1
    error = (tmp_path / "stderr").read_text()
    assert "error: " in error
    assert "File too large" in error
    assert "was not made. Check the path, its permissions and the free space" in error
    assert "Traceback" not in error
    assert not (tmp_path / "engine").exists()
    kept = {path.name for path in tmp_path.glob("cache/*/.*.partial/*")}
    assert ("best.safetensors" in kept) == (size == 300_000)
    assert finish(*fit(data, tmp_path)) == 0, (tmp_path / "stderr").read_text()
    same(tmp_path, undisturbed[1])
