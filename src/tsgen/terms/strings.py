"""Many strings as one block of bytes: no Python object for each of them, and they map from disk."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tsgen.terms.arrays import load_array, save_array, smallest_offsets

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
        return (self[i] for i in range(len(self)))

    def find(self, string: str) -> int | None:
        """The number of a string, by binary search; the strings must be in ascending order.

        UTF-8 keeps the order of code points, so bytes compare as Python's strings do.
        """
        wanted, low, high = string.encode(), 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._bytes(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self._bytes(low) == wanted else None

    def save(self, folder: Path, name: str) -> None:
        """Write `<name>.npy` and `<name>_offsets.npy`."""
        save_array(folder, name, self.blob)
        save_array(folder, f"{name}_offsets", self.offsets)

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Map both files into memory."""
        return cls(load_array(folder, f"{name}_offsets"), load_array(folder, name))

    @property
    def nbytes(self) -> int:
        """The size of both arrays."""
        return self.blob.nbytes + self.offsets.nbytes

    def _bytes(self, i: int) -> bytes:
        return self.blob[int(self.offsets[i]) : int(self.offsets[i + 1])].tobytes()
