"""Checksums of files, so that a damaged byte is told and never answers a query.

A file has one checksum for each block of a mebibyte (XXH3, 64 bits: about 10 GB/s on one core, so
that every file can be checked whenever it is opened). Several checksums rather than one say where
a file is damaged, and let a file that is read in places be checked in these places only.

The same module checks what the numbers of an array promise: offsets that ascend within the array
that they point into, and numbers that are smaller than the table that they point into. Compiled
kernels index without looking, so nothing reaches them unchecked.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from tsgen.errors import DamagedError

BLOCK = 2**20  # bytes that have one checksum
DIGITS = 16  # hexadecimal digits of a checksum


class FileFacts(NamedTuple):
    """What a file was when it was written."""

    size: int  # bytes
    sha256: str  # which content it is, for the keys of what is made from it
    blocks: str  # the checksums of its blocks, one after the other


def checksum(data: bytes | memoryview) -> str:
    """The checksum of some bytes in hexadecimal digits."""
    return xxhash.xxh3_64_hexdigest(data)


def line_checksum(line: bytes) -> int:
    """The checksum of a line as an unsigned number of 64 bits."""
    return xxhash.xxh3_64_intdigest(line)


def row_checksum(*parts: bytes | str | int | float | None) -> int:
    """A checksum of several values as a signed number of 64 bits, such as SQLite keeps.

    Each part is hashed with its type and length, so that values cannot flow into one another.
    """
    hashed = xxhash.xxh3_64()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogatepass")
        hashed.update(b"%s %d:" % (type(part).__name__.encode(), len(data)))
        hashed.update(data)
    value = hashed.intdigest()
    return value - 2**64 if value >= 2**63 else value


def block_checksums(path: Path) -> str:
    """The checksums of all blocks of a file; none for an empty file."""
    with path.open("rb", buffering=0) as file:
        return checksums_of(file)


def checksums_of(file: Any) -> str:
    """The checksums of all blocks of an open file, from where it stands."""
    found, buffer = [], bytearray(BLOCK)
    view = memoryview(buffer)
    while length := _fill(file, view):
        found.append(checksum(view[:length]))
    return "".join(found)


def _fill(file: Any, view: memoryview) -> int:
    """Read until a block is full or the file ends: one call may return less than was asked for."""
    length = 0
    while length < len(view) and (some := file.readinto(view[length:])):
        length += some
    return length


def damage(path: Path, facts: FileFacts, look: bool = True) -> str | None:
    """What is wrong with a file, in words; None if it is as it was written, or has the size that
    it had, if that is all that is to be looked at."""
    if not path.is_file():
        return "missing, the manifest lists it"
    found = path.stat().st_size
    if found != facts.size:
        return f"{found:,} bytes, the manifest says {facts.size:,}"
    if not look or (now := block_checksums(path)) == facts.blocks:
        return None
    places = differing(now, facts.blocks)
    first = places[0] * BLOCK
    last = min(first + BLOCK, facts.size)
    more = f" and in {len(places) - 1} more places" if len(places) > 1 else ""
    return f"its content differs from the manifest's checksum in bytes {first:,} to {last:,}{more}"


def differing(now: str, before: str) -> list[int]:
    """The numbers of the blocks whose checksums differ."""
    blocks = range(0, max(len(now), len(before)), DIGITS)
    return [at // DIGITS for at in blocks if now[at : at + DIGITS] != before[at : at + DIGITS]]


CHECK = "`tsgen check ENGINE` lists what is damaged, `tsgen repair ENGINE` keeps what can be kept."


def require_offsets(path: Path, offsets: NDArray[Any], rows: int, values: int) -> None:
    """Refuse offsets [rows + 1] that do not ascend from 0 to the length of what they point into."""
    shaped = offsets.ndim == 1 and offsets.dtype.kind in "iu" and len(offsets) == rows + 1
    if not (shaped and offsets[0] == 0 and offsets[-1] == values):
        raise DamagedError(
            f"{path}: found {offsets.shape} {offsets.dtype}; expected {rows + 1:,} ascending "
            f"offsets from 0 to {values:,}. {CHECK}"
        )
    if not np.all(offsets[1:] >= offsets[:-1]):
        raise DamagedError(f"{path}: found offsets that descend; expected ascending ones. {CHECK}")


def require_shape(path: Path, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if array.shape != shape:
        raise DamagedError(f"{path}: found {array.shape}; expected {shape}. {CHECK}")


def require_numbers(path: Path, numbers: NDArray[Any], below: int) -> None:
    """Refuse numbers that do not point into a table with `below` rows."""
    shaped = numbers.ndim == 1 and numbers.dtype.kind in "iu"
    if not shaped or (len(numbers) and (numbers.min() < 0 or numbers.max() >= below)):
        raise DamagedError(
            f"{path}: found {numbers.shape} {numbers.dtype}, or numbers outside of 0 to "
            f"{below - 1:,}; expected numbers within. {CHECK}"
        )
