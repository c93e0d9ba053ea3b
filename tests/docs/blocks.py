"""Code blocks of the documentation: found in Markdown, run as a reader would run them.

A fenced block in the language `python` or `console` is run. A comment on the line above the fence
changes that:

    <!-- needs: the serve extra -->     the block is not run here; the comment says why
    <!-- file: mine.toml -->            the block is the text of a file that later blocks use

Of a `console` block, lines that start with `$ ` are commands, and the others are what the command
prints: an excerpt, in which `…` stands for any text and numbers with a decimal point may differ.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tsgen.cli.main import app

FENCE = re.compile(r"^( *)```([\w-]*).*$")
MARK = re.compile(r"^\s*<!-- (needs|file): (.+) -->$")
DECIMAL = re.compile(r"[-−]?\d*\.\d+")
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
SHELL = re.compile(r"[|<>$`&;]")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, its mark if any, and its text."""

    page: Path
    line: int
    language: str
    mark: str
    value: str
    text: str

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page from top to bottom."""
    lines = page.read_text("utf-8").splitlines()
    number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        if opening:
            end = _end(lines, number, page)
            yield _block(page, lines, number, end, opening)
            number = end
        number += 1


def _end(lines: list[str], start: int, page: Path) -> int:
    for number in range(start + 1, len(lines)):
        if lines[number].strip() == "```":
            return number
    raise AssertionError(f"{page.name}:{start + 1}: the block has no end")


def _block(page: Path, lines: list[str], start: int, end: int, opening: re.Match[str]) -> Block:
    mark = MARK.match(lines[start - 1]) if start else None
    indent = len(opening[1])
    text = "\n".join(line[indent:] for line in lines[start + 1 : end]) + "\n"
    kind, value = (mark[1], mark[2]) if mark else ("", "")
    return Block(page, start + 1, opening[2], kind, value, text)


@dataclass
class Reader:
    """Someone who follows a page in a folder, block after block."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def follow(self, page: Path) -> None:
        """Run every block of the page that needs nothing special."""
        with contextlib.chdir(self.folder):
            for block in blocks(page):
                if block.mark == "file":
                    self._write(block)
                elif not block.mark and block.language == "python":
                    self._run_python(block)
                elif not block.mark and block.language == "console":
                    self._run_commands(block)

    def _write(self, block: Block) -> None:
        path = self.folder / block.value
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, "utf-8")

    def _run_python(self, block: Block) -> None:
        code = compile("\n" * block.line + block.text, str(block.page), "exec")
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, self.names)

    def _run_commands(self, block: Block) -> None:
        for command, shown in commands(block.text):
            printed = _run(command, block)
            check_excerpt(shown, printed, f"{block.place}: {command}")


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Split a console block into commands with the lines that each one is said to print."""
    found: list[tuple[str, list[str]]] = []
    for line in text.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip():
            assert found, f"a console block begins with a command after `$ `, found: {line}"
            found[-1][1].append(line)
    return found


def _run(command: str, block: Block) -> str:
    words = shlex.split(command, comments=True)
    if words[0] == "tsgen" and not SHELL.search(QUOTED.sub("", command).partition(" #")[0]):
        return _run_tsgen(words[1:], f"{block.place}: {command}")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env=os.environ | {"PATH": path}
    )
    assert done.returncode == 0, f"{block.place}: {command}\n{done.stdout}{done.stderr}"
    return done.stdout


def _run_tsgen(words: list[str], place: str) -> str:
    """Run `tsgen …` in this process: importing torch for every command would take minutes."""
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, f"{place}\n{result.output}\n{result.exception!r}"
    return result.stdout


def check_excerpt(shown: list[str], printed: str, place: str) -> None:
    """Fail unless the lines shown are among those printed, in this order."""
    rest = iter([_plain(line) for line in printed.splitlines()])
    for line in shown:
        pattern = ".*".join(re.escape(part) for part in _plain(line).split("…"))
        assert any(re.fullmatch(pattern, one) for one in rest), (
            f"{place}\nshown but not printed (or not in this order):\n{line}\nprinted:\n{printed}"
        )


def _plain(line: str) -> str:
    return DECIMAL.sub("#", " ".join(line.split()))
