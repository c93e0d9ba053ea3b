"""Texts on their way through the command line: bytes that are not UTF-8, a locale that knows ASCII
only, and control characters that a terminal would obey."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from small_engine import write_small_engine
from tsgen.cli import common
from tsgen.cli.common import QuotingConsole, quote_controls, typed_text, write_json
from tsgen.errors import DataError

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31mtea\x7f"
QUOTED = r"\x1b]0;owned\x07\x1b[2J\x9b31mtea\x7f"
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_engine(tmp_path_factory.mktemp("texts") / "engine")


def tsgen(*arguments: object, given: bytes = b"", **environment: str) -> tuple[int, bytes, bytes]:
    """Run a command; its exit code, output and errors."""
    command = [sys.executable, "-m", "tsgen", *map(os.fsencode, map(str, arguments))]
    done = subprocess.run(
        command, input=given, capture_output=True, check=False, env=os.environ | environment
    )
    return done.returncode, done.stdout, done.stderr


def test_controls_are_shown_wherever_text_is_printed() -> None:
    written = StringIO()
    console = QuotingConsole(file=written, width=200)
    table = Table("title")
    table.add_row(Text(EVIL[:-4]))
    console.print(EVIL, markup=False)
    console.print(Text(EVIL), table)
    assert "\x1b" not in written.getvalue()
    assert "\x9b" not in written.getvalue()
    assert written.getvalue().count(r"\x1b]0;owned") == 3
    assert r"\x9b31mtea\x7f" in written.getvalue()


def test_colours_of_our_own_stay() -> None:
    written = StringIO()
    QuotingConsole(file=written, force_terminal=True, color_system="standard").print("[red]tea")
    assert "\x1b[31mtea" in written.getvalue()


def test_both_consoles_quote() -> None:
    assert isinstance(common.console, QuotingConsole)
    assert isinstance(common.output, QuotingConsole)
    assert quote_controls(EVIL) == QUOTED
    assert quote_controls("a\tb\nc é") == "a\tb\nc é"


def test_json_on_stdout_gives_no_orders(capsys: pytest.CaptureFixture[str]) -> None:
    write_json("-", {"title": EVIL + "é"})
    printed = capsys.readouterr().out
    assert not set(printed) & set("\x1b\x07\x9b\x7f")
    assert json.loads(printed) == {"title": EVIL + "é"}


def test_typed_text() -> None:
    assert typed_text(b"caf\xc3\xa9".decode("ascii", "surrogateescape")) == "café"
    assert typed_text("café") == "café"
    with pytest.raises(DataError, match=r"found the byte 0xe9 in the query"):
        typed_text(b"caf\xe9".decode("utf-8", "surrogateescape"))


def test_queries_that_are_not_utf8_are_told(engine: Path) -> None:
    bad = b"caf\xe9".decode("utf-8", "surrogateescape")
    for arguments in (
        ("search", engine, bad),
        ("search", engine, "tea", "--where", f'lang = "{bad}"'),
        ("why", engine, bad, "milk"),
        ("explain", engine, "milk", bad),
        ("remove", engine, bad),
    ):
        code, out, err = tsgen(*arguments)
        assert (code, out) == (1, b""), err
        assert b"error: found the byte 0xe9 in the " in err
        assert b"Traceback" not in err
    code, _, err = tsgen("search", engine, "-", given=b"tea\ncaf\xe9\n")
    assert code == 1
    assert b"found the byte 0xe9 in the query in line 2 of stdin" in err


def test_an_ascii_locale(engine: Path) -> None:
    code, out, err = tsgen("search", engine, "milk café", **ASCII)
    assert (code, err) == (0, b"")
    assert out.decode("ascii").startswith(r"milk caf\xe9")
    code, out, err = tsgen("search", engine, "-", "--json", "-", given="café".encode(), **ASCII)
    assert code == 0, err
    assert json.loads(out)[0]["query"] == "café"


def test_a_query_that_is_too_long(engine: Path) -> None:
    code, _, err = tsgen("search", engine, "a" * 64_000)
    assert code == 1
    assert b"found a query of 64,000 characters; expected at most 10,000" in err
