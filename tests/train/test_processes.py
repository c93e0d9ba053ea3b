"""Two processes under torchrun: equal weights, those of one process, and one engine."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from two_processes import trained

from fitted import FOODS, settings, write_bert, write_foods
from tsgen import parallel as processes
from tsgen.artifact import _follow, open_artifact
from tsgen.corpus.load import load
from tsgen.retrieve.engine import Engine
from tsgen.training_loop import CHECKPOINT, CURVE, shard

HERE = Path(__file__).resolve().parent


def torchrun(work: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = [str(HERE / "two_processes.py"), str(work), *arguments]
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    paths = [str(HERE), str(HERE.parent), *sys.path]
    return subprocess.run(
        [sys.executable, *launch, *script],
        env={"PYTHONPATH": ":".join(paths), "PATH": "", "OMP_NUM_THREADS": "1", "HOME": str(work)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_processes(tmp_path: Path) -> None:
    write_foods(tmp_path / "set", "train", "dev")
    write_bert(tmp_path / "bert")
    flags = [part for one in settings(tmp_path / "bert", epochs=40) for part in ("--set", one)]
    places = ["--out", str(tmp_path / "engine"), "--cache", str(tmp_path / "cache")]
    done = torchrun(tmp_path, "fit", str(tmp_path / "set"), *places, "--preset", "tiny", *flags)
    assert done.returncode == 0, done.stderr

    first, second = (load_file(tmp_path / f"rank-{n}" / "last.safetensors") for n in (0, 1))
    trained(tmp_path / "alone", tmp_path / "alone" / "last.safetensors")
    alone = load_file(tmp_path / "alone" / "last.safetensors")
    for name, weights in alone.items():
        assert torch.equal(first[name], second[name]), name
        torch.testing.assert_close(first[name], weights, rtol=1e-2, atol=1e-3)
    _check_parts(tmp_path, alone)
    kept = {"last.safetensors", "parts.safetensors", "cut.safetensors"}
    files = {path.name for path in (tmp_path / "rank-1").rglob("*") if path.is_file()}
    assert files == kept
    assert {CHECKPOINT, CURVE} <= {path.name for path in (tmp_path / "rank-0").iterdir()}

    open_artifact(tmp_path / "engine")
    assert done.stdout.count("R@100") == 1  # one of them prints
    assert not list(tmp_path.rglob("*.partial"))
    queries = [query.text for query in load(tmp_path / "set").queries().values()]
    hits = Engine.load(tmp_path / "engine").search(queries, k=1)
    assert [found[0].document_id for found in hits] == [f"d{i}" for i in range(len(FOODS))]


def test_a_follower_works_beside_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system looks for what it shares with others in the folder above its own, the cache: in the
    first process and in all others."""
    above: list[Path] = []

    def work(folder: Path) -> None:
        above.append(folder.parent)

    _follow(work, tmp_path)
    assert above == []  # nothing to be done
    monkeypatch.setattr("tsgen.artifact.agreed", lambda _: True)
    _follow(work, tmp_path)
    assert above == [tmp_path]
    assert list(tmp_path.iterdir()) == []


def _check_parts(folder: Path, alone: dict[str, torch.Tensor]) -> None:
    """Gradients that are added up part by part are those of the whole batch in both processes, and
    a run that was interrupted goes on to the very same weights."""
    names = "parts.safetensors", "cut.safetensors"
    first, second = ([load_file(folder / f"rank-{n}" / name) for name in names] for n in (0, 1))
    for name, weights in alone.items():
        assert torch.equal(first[0][name], second[0][name]), name
        torch.testing.assert_close(first[0][name], weights, rtol=1e-2, atol=1e-3)
        assert torch.equal(first[1][name], first[0][name]), name
        assert torch.equal(second[1][name], second[0][name]), name


@pytest.mark.parametrize(
    ("rows", "shares"), [([4, 5, 6], [[4, 6], [5]]), ([7], [[7], [7]]), ([1, 2], [[1], [2]])]
)
def test_shares(rows: list[int], shares: list[list[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    assert shard(np.array(rows)).tolist() == rows
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank, share in enumerate(shares):
        monkeypatch.setenv("RANK", str(rank))
        assert processes.rank() == rank
        assert shard(np.array(rows)).tolist() == share
