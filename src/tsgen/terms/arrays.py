"""Arrays as files: written plainly, mapped into memory when read."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsgen.errors import ArtifactError


def save_array(folder: Path, name: str, array: NDArray[Any]) -> None:
    """Write `<name>.npy`."""
    np.save(folder / f"{name}.npy", array, allow_pickle=False)


def load_array(folder: Path, name: str) -> NDArray[Any]:
    """Map `<name>.npy` into memory, read-only; a missing or foreign file is named in the error."""
    path = folder / f"{name}.npy"
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise ArtifactError(f"{path}: missing; expected a folder of term sets") from None
    except (ValueError, EOFError) as error:
        raise ArtifactError(f"{path}: not a readable array ({error})") from None


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
