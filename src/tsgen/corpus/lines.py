"""One reader for text files, plain or compressed: numbered lines, errors that name the place."""

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import zstandard

from tsgen.corpus.problems import BadRecord
from tsgen.errors import DataError

COMPRESSIONS = (".gz", ".zst")
BUFFER = 2**20
_GZIP, _ZSTD, _BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, decompressed if its first bytes say so, whatever its name says."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}; expected a readable file") from None
    if magic.startswith(_GZIP):
        return io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(path)), BUFFER)
    if magic == _ZSTD:
        return io.BufferedReader(_Frames(path), BUFFER)
    return path.open("rb")


class _Frames(io.RawIOBase):
    """Zstandard frames, one after the other. Unlike the library's own reader, this one does not
    take a frame that is cut off for the end of the file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._pieces = self._decompressed()
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        target = memoryview(buffer)
        count = min(len(target), len(self._left))
        target[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()

    def _decompressed(self) -> Iterator[bytes]:
        frame, unused = None, b""
        while compressed := unused or self._file.read(io.DEFAULT_BUFFER_SIZE):
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(compressed)
            unused = frame.unused_data
            frame = None if frame.eof else frame
        if frame is not None:
            raise EOFError("its last part is missing")


def all_lines(path: Path) -> Iterator[bytes]:
    """Every line with its end, blank or not; the byte order mark some editors write is left out."""
    number = 0
    with open_bytes(path) as file:
        try:
            for number, line in enumerate(file, start=1):
                yield line.removeprefix(_BOM) if number == 1 else line
        except DAMAGE as error:
            raise damaged(f"{path}:{number + 1}", error) from None


def damaged(place: str, error: Exception) -> DataError:
    """A compressed file that cannot be read to its end."""
    return DataError(
        f"{place}: the compressed file is damaged here ({error}); expected a complete file. "
        "Copy or download it again."
    )


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Line numbers, from 1, and lines without their ends; blank lines are counted but left out."""
    for number, line in enumerate(all_lines(path), start=1):
        stripped = line.rstrip(b"\r\n")
        if stripped and not stripped.isspace():
            yield number, stripped


def first_line(path: Path) -> bytes:
    """The first line that is not blank, or nothing for an empty file."""
    return next(numbered_lines(path), (0, b""))[1]


def decode(line: bytes) -> str:
    """The line as text; `BadRecord` where it is not UTF-8."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise _not_utf8(line.decode("utf-8", "surrogateescape")) from None


def check_decoded(text: str) -> str:
    """Text that was decoded with `surrogateescape`, if all its bytes were UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _not_utf8(text) from None
    return text


def _not_utf8(text: str) -> BadRecord:
    at = next(i for i, char in enumerate(text) if "\ud800" <= char <= "\udfff")
    return BadRecord(
        "invalid UTF-8",
        f"after {text[max(0, at - 20) : at]!r} comes 0x{ord(text[at]) & 0xFF:02x}, which is not "
        "valid UTF-8; expected UTF-8 (convert with: iconv -f latin1 -t utf-8)",
    )


def stem_and_format(path: Path) -> tuple[str, str]:
    """A file's name without its format and compression, and the format: `a.b.tsv.gz` → a.b, tsv."""
    plain = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return plain.stem, plain.suffix.removeprefix(".")


def find_file(folder: Path, *names: str) -> Path | None:
    """The first of these files that a folder has, plain or compressed."""
    candidates = (folder / f"{name}{end}" for name in names for end in ("", *COMPRESSIONS))
    return next((path for path in candidates if path.is_file()), None)
