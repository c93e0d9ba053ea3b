"""The command itself: help, version, errors without tracebacks, a quick start."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toy import write_beir
from tsgen.cli import main
from tsgen.cli.main import app, run
from tsgen.errors import DataError
from tsgen.version import __version__

HEAVY = ("torch", "transformers", "numba", "matplotlib", "scipy", "numpy")


def tsgen(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    code = "from tsgen.cli.main import run; run()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, **options
    )  # type: ignore[call-overload, no-any-return]


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"tsgen {__version__}\n")


def test_help_lists_the_verbs() -> None:
    result = CliRunner().invoke(app, ["--help"])
    for verb in ("index", "compare", "evaluate", "data", "split", "terms", "pretrain", "inspect"):
        assert f" {verb} " in result.stdout


@pytest.mark.parametrize(
    "verb", ["index", "compare", "evaluate", "data", "split", "terms", "pretrain", "inspect"]
)
def test_every_verb_shows_an_example_and_writes_json(verb: str) -> None:
    result = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": "120"})
    assert result.exit_code == 0
    assert f"Example: tsgen {verb} " in " ".join(result.stdout.split())
    assert "--json" in result.stdout


def test_help_loads_nothing_heavy() -> None:
    code = f"""
import sys
from tsgen.cli.main import app
app(["--help"], standalone_mode=False)
loaded = set({HEAVY!r}) & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_mistyped_engine_is_told_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    code = f"""
import sys
from tsgen.cli.main import app
from tsgen.errors import ArtifactError
try:
    app(["search", {str(tmp_path / "absent")!r}, "bread"], standalone_mode=False)
except ArtifactError as error:
    assert "absent: no manifest.json; expected a folder" in str(error)
assert "tsgen.retrieve.engine" not in sys.modules
assert "tsgen.settings" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_bad_input_prints_one_message(tmp_path: Path) -> None:
    result = tsgen("compare", str(tmp_path / "absent"))
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: {tmp_path}/absent: no such file or folder; expected")
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_typo_in_an_option_is_a_usage_error() -> None:
    result = tsgen("compare", "data", "--sytems", "bm25")
    assert result.returncode == 2
    assert "--systems" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (DataError("corpus.jsonl:3: [bold] is no id"), 1, "corpus.jsonl:3: [bold] is no id"),
        (
            OSError(errno.ENOSPC, "No space left on device", "out"),
            1,
            "out: No space left on device",
        ),
        (OSError("cannot write"), 1, "error: cannot write"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_errors_become_messages(
    error: BaseException,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(SystemExit) as stopped:
        run()
    assert stopped.value.code == code
    output = capfd.readouterr()
    assert message in output.err
    assert output.out == ""
    assert bool(output.err) == bool(message)


def test_bugs_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(ZeroDivisionError):
        run()


INTERRUPTED_WHILE_LOADING = """
import signal, sys
from tsgen.__main__ import run

class Interrupting:
    def find_spec(self, name, *_):
        if name == "typer":
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in background
sys.meta_path.insert(0, Interrupting())
run()
"""


def test_ctrl_c_while_it_loads() -> None:
    command = [sys.executable, "-c", INTERRUPTED_WHILE_LOADING, "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


@pytest.mark.parametrize("options", [[], ["--json", "-"]])
def test_reader_that_goes_away(tmp_path: Path, options: list[str]) -> None:
    folder = write_beir(tmp_path, {"d1": "cat"}, {"q1": "cat"}, test=[("q1", "d1")])
    reading, writing = os.pipe()
    os.close(reading)
    code = "from tsgen.cli.main import run; run()"
    command = [sys.executable, "-c", code, "data", str(folder), *options]
    result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "BrokenPipe" not in result.stderr
