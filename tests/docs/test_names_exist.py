"""Files, modules and options that the documentation names are there."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tsgen.corpus.load import CORPORA
from tsgen.model.backbone import BACKBONES
from tsgen.retrieve.systems import SYSTEMS
from tsgen.settings import engine_options
from tsgen.synthetic.writers import WRITERS
from tsgen.terms.weights import TERM_WEIGHTS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "guides").glob("*.md"),
        *(ROOT / "docs" / "api").glob("*.md"),
    ]
)
PAGES.remove(ROOT / "CHANGELOG.md")  # names things as they were called at the time
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FILE = re.compile(r"[\w-]+(/[\w-]+)*\.(py|toml)")
NAME = re.compile(r"tsgen(\.\w+)+")
OPTION = re.compile(r"(terms|tfidf|pretrained|weigher|queries|model|train|decode|search)((\.\w+)+)")
ENDINGS = (".py", ".toml", ".json", ".jsonl", ".tsv", ".txt", ".qrels", ".gz")
GROUPS = {registry.group for registry in (BACKBONES, CORPORA, SYSTEMS, TERM_WEIGHTS, WRITERS)}
PLACES = (ROOT, ROOT / "src" / "tsgen")


@cache
def _options() -> set[str]:
    """Every option of an engine as `--set` takes it, and the tables on the way to it."""
    names = {f"{option.table}.{option.name}" for option in engine_options()}
    return names | {name.rpartition(".")[0] for name in names}


def _mentions(page: Path, pattern: re.Pattern[str]) -> Iterator[str]:
    for code in CODE.findall(page.read_text("utf-8")):
        name = code.partition(" = ")[0].partition("(")[0].removeprefix("src/tsgen/").strip()
        if pattern.fullmatch(name) and (pattern is FILE or not name.endswith(ENDINGS)):
            yield name


def _resolve(name: str) -> Any:
    """Import the longest part of a name that is a module, then go down its attributes."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise ImportError(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_are_there(page: Path) -> None:
    files = [name for name in _mentions(page, FILE) if "/" in name]
    assert [name for name in files if not any((p / name).exists() for p in PLACES)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_and_functions_are_there(page: Path) -> None:
    for name in set(_mentions(page, NAME)) - GROUPS:
        assert _resolve(name) is not None, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_are_there(page: Path) -> None:
    assert [name for name in _mentions(page, OPTION) if name not in _options()] == []


def test_wrong_names_are_found() -> None:
    assert "train.epochs" in _options()
    assert "train.softmax" not in _options()
    with pytest.raises(AttributeError):
        _resolve("tsgen.records.Nothing")
