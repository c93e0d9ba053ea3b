import gzip
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tsgen.corpus.load import load
from tsgen.corpus.sources import DocumentIds, find_file, numbered_lines, stem_and_format
from tsgen.errors import DataError

CONTENT = b"\xef\xbb\xbfone\r\n\n  \ntwo\nthree"
EXPECTED = [(1, b"one"), (4, b"two"), (5, b"three")]


@pytest.mark.parametrize(
    "compress", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gz", "zst"]
)
def test_numbers_lines_and_leaves_out_blank_ones_and_the_mark(tmp_path: Path, compress) -> None:
    path = tmp_path / "file"
    path.write_bytes(compress(CONTENT))
    assert list(numbered_lines(path)) == EXPECTED


def test_reads_several_frames_and_members(tmp_path: Path) -> None:
    for compress in (gzip.compress, zstandard.compress):
        path = tmp_path / "file"
        path.write_bytes(compress(b"one\n") + compress(b"two\n"))
        assert list(numbered_lines(path)) == [(1, b"one"), (2, b"two")]


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
def test_says_where_a_compressed_file_is_cut_off_or_damaged(tmp_path: Path, compress) -> None:
    path = tmp_path / "file"
    numbers = b"".join(b"line %d\n" % (number * number) for number in range(50_000))
    whole = compress(numbers)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    for content in (whole[:-6], whole[: len(whole) // 2], bytes(damaged)):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"file:\d+: the compressed file is damaged.*again"):
            list(numbered_lines(path))
    path.write_bytes(whole)
    assert len(list(numbered_lines(path))) == 50_000


def test_says_that_a_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.txt: No such file"):
        list(numbered_lines(tmp_path / "gone.txt"))


def test_takes_names_apart() -> None:
    assert stem_and_format(Path("a/queries.dev.small.tsv.gz")) == ("queries.dev.small", "tsv")
    assert stem_and_format(Path("corpus.jsonl")) == ("corpus", "jsonl")
    assert stem_and_format(Path("docs.zst")) == ("docs", "")


def test_finds_plain_or_compressed_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.tsv.zst").touch()
    assert find_file(tmp_path, "a.tsv", "b.tsv") == tmp_path / "b.tsv.zst"
    assert find_file(tmp_path, "a.tsv") is None


names = st.lists(st.one_of(st.integers(0, 6).map(str), st.sampled_from(["a", "01", "", "²"])))


@given(names)
def test_document_ids_are_a_set(added: list[str]) -> None:
    """Whatever comes in whatever order, also ids that are first their positions and then not."""
    ids, oracle = DocumentIds(), set[str]()
    for name in [*map(str, range(len(added) % 3)), *added]:
        assert ids.add(name) == (name not in oracle)
        oracle.add(name)
        assert len(ids) == len(oracle)
        assert all((one in ids) == (one in oracle) for one in ["0", "3", "6", "a", "01", "²", ""])


def test_a_million_positions_take_no_memory() -> None:
    ids = DocumentIds()
    tracemalloc.start()
    assert all(ids.add(str(number)) for number in range(200_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000
    assert "199999" in ids
    assert "200000" not in ids


def test_a_collection_is_a_stream(tmp_path: Path) -> None:
    """The first passages are there before the rest of the file is read."""
    path = tmp_path / "collection.tsv"
    path.write_bytes(b"0\tone\n1\ttwo\n" + b"2\xff\tbroken\n")
    documents = load(tmp_path).documents()
    assert [next(documents).text, next(documents).text] == ["one", "two"]
    with pytest.raises(DataError, match=r"collection\.tsv:3"):
        next(documents)
