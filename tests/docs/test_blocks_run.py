"""Every command and snippet of README and guides runs, or says what it needs."""

import shutil
from pathlib import Path

import pytest
from blocks import Reader, blocks, check_excerpt, commands
from typer.testing import CliRunner

from tsgen.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guides").glob("*.md")]
)
LANGUAGES = {"python", "console", "toml", "json", "ini", "text", "markdown"}


def _label(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="session")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache and an engine of the example set: what a reader has after the tutorial."""
    folder = tmp_path_factory.mktemp("documentation")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        words = ["index", "examples/kitchen", "--out", str(folder / "runs" / "kitchen")]
        done = CliRunner().invoke(app, [*words, "--cache", str(folder / "cache")])
    assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize("page", PAGES, ids=_label)
def test_blocks_run_as_printed(
    page: Path, kitchen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TSGEN_CACHE", str(kitchen / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    shutil.copytree(kitchen / "runs", tmp_path / "runs")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    Reader(tmp_path).follow(page)


@pytest.mark.parametrize("page", PAGES, ids=_label)
def test_blocks_have_a_known_language(page: Path) -> None:
    unknown = [(block.place, block.language) for block in blocks(page)]
    assert [one for one in unknown if one[1] not in LANGUAGES] == []


@pytest.mark.parametrize("page", PAGES, ids=_label)
def test_text_blocks_hide_no_command(page: Path) -> None:
    hidden = [
        block.place
        for block in blocks(page)
        if block.language not in {"python", "console"}
        for line in block.text.splitlines()
        if line.startswith(("$ ", "tsgen ", "pip ", ">>> "))
    ]
    assert hidden == []


def _page(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text, "utf-8")
    return page


def test_a_failing_snippet_is_found(tmp_path: Path) -> None:
    page = _page(tmp_path, "```python\nassert 1 + 1 == 3\n```\n")
    with pytest.raises(AssertionError):
        Reader(tmp_path).follow(page)


def test_a_failing_command_is_found_with_its_place(tmp_path: Path) -> None:
    page = _page(tmp_path, "text\n\n```console\n$ tsgen data nowhere\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:3: tsgen data nowhere"):
        Reader(tmp_path).follow(page)


def test_a_marked_block_is_not_run_and_a_file_is_written(tmp_path: Path) -> None:
    page = _page(
        tmp_path,
        "<!-- needs: luck -->\n```python\nassert False\n```\n"
        '<!-- file: a/b.toml -->\n```toml\nkey = "value"\n```\n'
        "```console\n$ cat a/b.toml\nkey = …\n```\n",
    )
    Reader(tmp_path).follow(page)
    assert (tmp_path / "a" / "b.toml").read_text() == 'key = "value"\n'


def test_commands_go_over_several_lines_and_have_their_output() -> None:
    assert commands("$ tsgen a \\\n  b\nfirst\n\nsecond\n$ tsgen c\n") == [
        ("tsgen a   b", ["first", "second"]),
        ("tsgen c", []),
    ]


def test_what_is_shown_must_be_printed() -> None:
    check_excerpt([" 1. Rye bread  6.31 …"], "query\n 1. Rye bread   6.32  rye-bread\n", "here")
    with pytest.raises(AssertionError, match="here\nshown but not printed"):
        check_excerpt(["Rye", "query"], "query\nRye\n", "here")
