import gzip
from pathlib import Path

import pytest
import zstandard

from tsgen.corpus.sources import find_file, numbered_lines, stem_and_format
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
