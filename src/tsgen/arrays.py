"""Many strings as one block of bytes: no Python object for each of them, and they map from disk."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, wraps
from itertools import pairwise
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tsgen.artifact import PieceFormat
from tsgen.errors import DamagedError
from tsgen.integrity import require_offsets

# Arrays as files: written plainly, mapped into memory when read.


def save_array(folder: Path, name: str, array: NDArray[Any]) -> None:
    """Write an array as `<name>.npy` into a folder."""
    np.save(folder / f"{name}.npy", array, allow_pickle=False)


def load_array(folder: Path, name: str) -> NDArray[Any]:
    """Map `<name>.npy` into memory, read-only; a missing or foreign file is named in the error. A
    plain view, because slicing a `memmap` is slow."""
    path = folder / f"{name}.npy"
    try:
        mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        return mapped.view(np.ndarray)
    except FileNotFoundError:
        raise DamagedError(f"{path}: missing; expected a folder of term sets") from None
    except (ValueError, EOFError) as error:
        raise DamagedError(f"{path}: not a readable array ({error})") from None


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


ARRAYS = PieceFormat(".npz", lambda file, arrays: np.savez(file, **arrays), _read_arrays)
"""Pieces of work whose results are arrays by name."""


def constant(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers as a plain, contiguous, read-only array.

    Memory-mapped files are read-only and numba compiles anew for writable arrays, so compiled loops
    see all long-lived arrays this way. Nothing is copied unless the array has gaps.
    """
    plain = np.ascontiguousarray(array).view(np.ndarray)
    plain.flags.writeable = False
    return plain


P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """A loop over arrays that numba compiles at its first call, and keeps the machine code of on
    disk. A search that calls no such loop is spared the import of numba."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        found: R = _machine_code(function)(*args, **kwargs)
        return found

    return run


@cache
def _machine_code(function: Callable[..., Any]) -> Callable[..., Any]:
    from numba import njit

    code: Callable[..., Any] = njit(cache=True)(function)
    return code


def smallest_offsets(offsets: NDArray[np.int64]) -> NDArray[np.int32] | NDArray[np.int64]:
    """The same offsets in int32 if they fit; signed, for numba makes uint64 + int64 a float."""
    if offsets[-1] <= np.iinfo(np.int32).max:
        return offsets.astype(np.int32)
    return offsets


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """CSR offsets [n + 1] of rows with these lengths [n]."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


Offsets = NDArray[np.int32] | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Strings:
    """String i is `blob[offsets[i]:offsets[i + 1]]` in UTF-8."""

    offsets: Offsets  # [n + 1]
    blob: NDArray[np.uint8]

    @classmethod
    def pack(cls, strings: Iterable[str]) -> Self:
        """Put strings one after another."""
        encoded = [string.encode() for string in strings]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(string) for string in encoded], out=offsets[1:])
        return cls(smallest_offsets(offsets), np.frombuffer(b"".join(encoded), np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> str:
        return self._bytes(i).decode()

    def __iter__(self) -> Iterator[str]:
        blob = self.blob.tobytes()
        return (blob[a:b].decode() for a, b in pairwise(self.offsets.tolist()))

    def find(self, string: str) -> int | None:
        """The number of a string, by binary search; the strings must be in ascending order."""
        place = self.place(string)
        return place if place < len(self) and self._bytes(place) == string.encode() else None

    def place(self, string: str) -> int:
        """How many strings come before a string; they must be in ascending order.

        UTF-8 keeps the order of code points, so bytes compare as Python's strings do.
        """
        return bisect_left(range(len(self)), string.encode(), key=self._bytes)

    def take(self, numbers: NDArray[np.integer]) -> Self:
        """Some of the strings, in the order of `numbers`."""
        lengths = np.diff(self.offsets)[numbers]
        offsets = offsets_of(lengths)
        shift = np.repeat(self.offsets[:-1][numbers] - offsets[:-1], lengths)
        return type(self)(smallest_offsets(offsets), self.blob[np.arange(offsets[-1]) + shift])

    def followed_by(self, other: Self) -> Self:
        """Both, one after the other."""
        lengths = np.concatenate([np.diff(self.offsets), np.diff(other.offsets)])
        blob = np.concatenate([self.blob, other.blob])
        return type(self)(smallest_offsets(offsets_of(lengths)), blob)

    def save(self, folder: Path, name: str) -> None:
        """Write `<name>.npy` and `<name>_offsets.npy`."""
        save_array(folder, name, self.blob)
        save_array(folder, f"{name}_offsets", self.offsets)

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Map both files into memory."""
        found = cls(load_array(folder, f"{name}_offsets"), load_array(folder, name))
        require_offsets(
            folder / f"{name}_offsets.npy", found.offsets, len(found), found.blob.nbytes
        )
        return found

    @property
    def nbytes(self) -> int:
        """The size of both arrays."""
        return self.blob.nbytes + self.offsets.nbytes

    def _bytes(self, i: int) -> bytes:
        # Not by indexing: a slice of a mapped array costs ten times as much.
        start, end = self.offsets.item(i), self.offsets.item(i + 1)
        return bytes(self.blob.data[start:end])
