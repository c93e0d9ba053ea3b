"""What every input door refuses: too much, too deep, too long, and what would take for ever."""

import gzip
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard

from tsgen.config import read_settings, read_toml
from tsgen.corpus import input_limits, sources, table_files
from tsgen.corpus.input_limits import check_queries, check_text, is_too_deep
from tsgen.corpus.load import load
from tsgen.corpus.sources import Problems
from tsgen.corpus.text_files import parse
from tsgen.corpus.trec import query_file
from tsgen.errors import ConfigError, DataError
from tsgen.retrieve.results import stretch
from tsgen.terms.words import Splitter

SIZE = 300_000


@contextmanager
def patience(seconds: int = 60) -> Iterator[None]:
    """Far more than linear work takes, and far less than quadratic work."""

    def over(*_: object) -> None:
        raise AssertionError(f"took over {seconds} seconds")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


RUNS = [
    "`",
    "``",
    "```",
    "~~~",
    " ",
    "\t",
    "a:",
    ":a:",
    "a::",
    "<",
    "[",
    "[a](",
    "*a",
    "> ",
    "<!--",
]
RUNS += ["\n", "=", "#", "_", "&#", "|a|", "<script>", "\ufdd0", "1."]
MADE = {
    "a heading and spaces": "# a" + " " * SIZE + "b",
    "a title and spaces": "---\ntitle: a" + " " * SIZE + "b\n---\nc",
    "spaces in a line": "a" + " " * SIZE + "b",
    "a line of marks": "a\n" + "=" * SIZE + "x",
    "a link without an end": "`" + " " * SIZE + "<" + "a" * SIZE,
}


@pytest.mark.parametrize("suffix", [".md", ".rst", ".txt"])
@pytest.mark.parametrize("text", [*(run * (SIZE // len(run)) for run in RUNS), *MADE.values()])
def test_texts_are_parsed_in_linear_time(text: str, suffix: str) -> None:
    with patience():
        parse(text, "name", suffix)


def test_words_and_snippets_take_linear_time() -> None:
    with patience():
        Splitter().spellings("1." * SIZE + "a")
        stretch("a" + " " * SIZE + "b", frozenset("b"), Splitter())
    assert stretch("a  b \n c", frozenset("b"), Splitter()) == "a  b c"


def test_topics_that_are_closed_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "topics.txt"
    line = "<title> " + "bread " * 30 + "</top>\n"
    path.write_text("<top>\n<num> 301\n" + line * 20_000)
    with patience():
        found = [query.id for _, query in query_file(path).rows(Problems(skip_bad=True))]
    assert found == ["301"]


def test_characters_that_no_text_has_are_no_places_of_code() -> None:
    assert parse("\ufdd0\ufdd01\ufdd19\ufdd1 `a`", "n", ".md").text == "19 a"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_small_file_that_expands_without_end(pack, tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl.gz"
    line = json.dumps({"_id": "a", "text": "b" * 2**20}).encode() + b"\n"
    path.write_bytes(pack(line * 100))
    assert path.stat().st_size < 2**20
    with pytest.raises(DataError, match="expands to more than 200 times its size"):
        for _ in load(path, skip_bad=True).documents():
            pass


def test_compressed_texts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl.gz"
    rows = [json.dumps({"_id": str(i), "text": f"text {i}"}) for i in range(20_000)]
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    assert len(list(load(path).documents())) == 20_000


def test_a_line_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LINE", 1000)
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id": "a", "text": "b"}\n' + "a" * 2000 + "\n")
    with pytest.raises(DataError, match=r"corpus.jsonl:2: the line is longer than"):
        list(load(path).documents())


def test_documents_that_are_too_long_or_too_deep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_limits, "DOCUMENT", 100)
    deep: object = 1
    for _ in range(17):
        deep = {"a": deep}
    path = tmp_path / "corpus.jsonl"
    rows = [{"_id": "a", "text": "b" * 101}, {"_id": "b", "text": "c", "d": deep}]
    rows += [{"_id": "c", "text": "fine", "d": deep["a"]}]  # type: ignore[index]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = load(path, skip_bad=True)
    assert [document.id for document in data.documents()] == ["c"]
    assert data.problems.counts == {"too long": 1, "too deep": 1}
    assert is_too_deep([[]], 1)
    assert not is_too_deep([[]], 2)


@pytest.mark.parametrize("rest", ['2,"def', '2,"def\n3,ghi\n'])
def test_a_quote_that_is_never_closed(rest: str, tmp_path: Path) -> None:
    path = tmp_path / "corpus.csv"
    path.write_text("id,text\n1,abc\n" + rest)
    with pytest.raises(DataError, match=r"corpus.csv:3: a quote that opens in this row is never"):
        list(load(path, skip_bad=True).documents())


def test_an_id_of_thousands_of_digits(tmp_path: Path) -> None:
    path = tmp_path / "corpus.tsv"
    path.write_text(f"id\ttext\n0\ta\n{'1' * 5000}\tb\n")
    assert [one.id for one in load(path).documents()] == ["0", "1" * 5000]


def test_quotes_that_are_closed(tmp_path: Path) -> None:
    path = tmp_path / "corpus.csv"
    path.write_text('id,text\n1,"a ""b""\nc"\n2,d"e\n3,""x')
    assert [one.text for one in load(path).documents()] == ['a "b"\nc', 'd"e', "x"]


@pytest.mark.parametrize("inner", ["[" * 100_000, "1" * 5000, "[" + "1" * 5000])
def test_lists_of_texts_that_python_cannot_read(inner: str, tmp_path: Path) -> None:
    (tmp_path / "corpus_lite.json").write_text(f'["a", {inner}, "b"]')
    with pytest.raises(DataError, match=r"item 2: "):
        list(load(tmp_path).documents())


def test_links_that_lead_out_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("fine")
    (folder / "b.md").symlink_to("a.md")
    (folder / "c.md").symlink_to("../secret.md")
    (folder / "loop.md").symlink_to("loop.md")
    os.mkfifo(folder / "pipe.md")
    with pytest.raises(DataError, match=r"'c.md' is a link to a file outside of the folder"):
        list(load(folder).documents())
    data = load(folder, skip_bad=True)
    assert [(one.id, one.text) for one in data.documents()] == [("a.md", "fine"), ("b.md", "fine")]
    before = data.fingerprint
    (tmp_path / "secret.md").write_text("another")
    assert load(folder).fingerprint == before
    (folder / "a.md").write_text("changed")
    assert load(folder).fingerprint != before


def test_a_text_file_that_is_too_long(tmp_path: Path) -> None:
    with (tmp_path / "a.md").open("wb") as file:
        file.truncate(input_limits.TEXT_FILE + 1)
    with pytest.raises(DataError, match=r"expected at most 16,777,216"):
        list(load(tmp_path).documents())


@pytest.mark.parametrize("value", ["1" * 5000, "[" * 5000, "{a=" * 5000])
def test_settings_that_python_cannot_read(value: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(f"a = {value}")
    with pytest.raises(ConfigError, match="not valid TOML"):
        read_toml(path)
    read_settings(None, [f"a.b={value}"])  # a word then, which no setting takes
    path.write_text("#" * 2**20 + "\n")
    with pytest.raises(ConfigError, match="over 1,048,576 bytes"):
        read_toml(path)


def test_queries() -> None:
    check_queries(["a" * input_limits.QUERY, "é\U0010ffff\x00"], 1, None)
    for queries, says in [
        (["a" * 10_001], "a query of 10,001 characters; expected at most 10,000"),
        (["ab\udcff"], "a query that is not valid Unicode after 'ab'"),
        ("text", "Put it into a list"),
    ]:
        with pytest.raises(DataError, match=says):
            check_queries(queries, 1, None)
    for k, beam in ((0, None), (-1, None), (1, 0)):
        with pytest.raises(ConfigError, match="expected a whole number of at least 1"):
            check_queries(["a"], k, beam)
    with pytest.raises(DataError, match="a filter of"):
        check_text("a" * 10_001, "filter")


def test_csv_fields_have_the_limit_of_a_line() -> None:
    assert table_files.csv.field_size_limit() == input_limits.LINE
