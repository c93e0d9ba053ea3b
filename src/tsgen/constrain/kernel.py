"""How array loops are compiled: once per machine, without the interpreter's lock."""

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

Function = TypeVar("Function", bound=Callable[..., object])
Number = TypeVar("Number", bound=np.generic)


def kernel(function: Function) -> Function:
    """Compile with numba at the first call and keep the machine code on disk.

    Kernels are called with one fixed type for each argument, so that each is compiled once. Stored
    code is renewed when a kernel's own file changes, not when a kernel that it calls does in
    another file: whoever changes one of those removes `__pycache__`.
    """
    return cast(Function, njit(nogil=True, cache=True)(function))


def fixed(values: ArrayLike, dtype: type[Number]) -> NDArray[Number]:
    """The same numbers as a plain, contiguous, read-only array of that type.

    Memory-mapped files are read-only and numba compiles anew for writable arrays, so kernels see
    all long-lived arrays this way. Nothing is copied unless the type differs.
    """
    array = np.ascontiguousarray(values, dtype=dtype).view(np.ndarray)
    array.flags.writeable = False
    return array
