"""What the verbs share: JSON that is complete or not there, progress for terminals and logs."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from tsgen.cli import common
from tsgen.cli.common import output, progress, results_console, write_json
from tsgen.progress import show


@dataclass
class Figures:
    mean: float
    ranks: "np.ndarray[tuple[int], np.dtype[np.int32]]"


VALUES = {
    "numpy": np.float64(0.5),
    "figures": Figures(0.25, np.array([1, 2], np.int32)),
    "proxy": MappingProxyType({"a": 1}),
    "set": {"b", "a"},
    "path": Path("x"),
    "tuple": (1, None),
    3: "number",
}
PLAIN = {
    "numpy": 0.5,
    "figures": {"mean": 0.25, "ranks": [1, 2]},
    "proxy": {"a": 1},
    "set": ["a", "b"],
    "path": "x",
    "tuple": [1, None],
    "3": "number",
}


def test_json_to_a_file(tmp_path: Path) -> None:
    write_json(str(tmp_path / "deep" / "out.json"), VALUES)
    assert json.loads((tmp_path / "deep" / "out.json").read_text()) == PLAIN
    assert len(list((tmp_path / "deep").iterdir())) == 1


def test_json_to_stdout_or_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    write_json(None, VALUES)
    assert capsys.readouterr().out == ""
    write_json("-", VALUES)
    assert json.loads(capsys.readouterr().out) == PLAIN


# Never by its name in /dev, which a failing test could replace for the whole machine.
@pytest.mark.parametrize("name", ["/dev/fd/1", "/proc/self/fd/1", "link"])
def test_json_to_the_device_of_stdout(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link").symlink_to("/dev/stdout")
    target = tmp_path / name  # an absolute name stays as it is
    print("before")
    write_json(str(target), VALUES)
    before, _, written = capfd.readouterr().out.partition("\n")
    assert (before, json.loads(written)) == ("before", PLAIN)
    assert target.is_symlink()
    assert results_console(str(target)) is common.console


def test_json_to_a_redirected_stdout_is_where_stdout_goes_on(tmp_path: Path) -> None:
    code = (
        "from tsgen.cli.common import write_json; print('a', flush=True); "
        "write_json('/proc/self/fd/1', [1]); print('z')"
    )
    with (tmp_path / "out").open("w") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert "".join((tmp_path / "out").read_text().split()) == "a[1]z"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_json_to_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(pipe.read_bytes)
        write_json(str(pipe), VALUES)
        assert json.loads(read.result(20)) == PLAIN
    assert pipe.is_fifo()


def test_json_to_a_device(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to("/dev/null")
    write_json(str(tmp_path / "null"), VALUES)
    assert Path("/dev/null").is_char_device()
    assert (tmp_path / "null").is_symlink()


def test_json_to_a_link_goes_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/out.json")
    for value in (1, 2):  # the file is not there, then it is
        write_json(str(tmp_path / "link"), value)
        assert (tmp_path / "link").is_symlink()
        assert json.loads((tmp_path / "real" / "out.json").read_text()) == value


def test_failed_json_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")
    with pytest.raises(TypeError):
        write_json(str(target), {"bad": {("tuple", "key"): 1}})
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_tables_leave_stdout_to_json() -> None:
    assert results_console("-") is common.console
    assert results_console("out.json") is output
    assert results_console(None) is output


def test_progress_in_a_log_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 3.0, 11.0, 15.0, 22.0, 33.0])
    monkeypatch.setattr(common.time, "monotonic", lambda: next(clock))
    with progress():
        show("reading", 1000, 5000)
        show("reading", 2000, 5000, "loss 1.5")  # a thousand in eight seconds
        show("reading", 3000, 5000)
        show("thinking", 7, None)
        show("reading", 5000, 5000)
    show("afterwards", 1, None)
    assert capsys.readouterr().err.splitlines() == [
        "reading: 2,000 of 5,000, 0:00:24 left, loss 1.5",
        "thinking: 7",
        "reading: 5,000 of 5,000",
    ]


def test_progress_on_a_terminal_is_bars(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(common, "console", common.Console(stderr=True, force_terminal=True))
    with progress():
        show("reading", 10, 5000)
        show("reading", 2000, 5000, "loss 1.5")
    text = capsys.readouterr().err
    assert "reading" in text
    assert "2000/5000" in text
    assert "left, loss 1.5" in text


def test_work_that_begins_again_has_a_pace_of_its_own() -> None:
    pace = common.Pace()
    assert pace.left("training", 0, 10, 0.0) == ""
    assert pace.left("training", 5, 10, 500.0) == "0:08:20 left"
    assert pace.left("training", 0, 10, 1000.0) == ""
    assert pace.left("training", 5, 10, 1005.0) == "0:00:05 left"
