"""Common numbers of two ascending lists: a merge without branches, or a search from the shorter."""

import numpy as np

from tsgen.constrain.constraint import Int32
from tsgen.constrain.kernel import kernel

SEARCH = 16  # how many times longer a list must be before searching beats merging


@kernel
def intersect(a: Int32, b: Int32, out: Int32, end: int) -> int:
    """Append the numbers that are in both lists to `out` from `end` on; the new end."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    if len(long) > SEARCH * len(short):
        place = int(np.int64(0))  # a typed zero: callees compile once
        for number in short:
            place = search(long, number, place)
            if place == len(long):
                break
            out[end] = number
            end += long[place] == number
        return end
    i = j = 0
    while i < len(short) and j < len(long):
        x, y = short[i], long[j]
        out[end] = x
        end += x == y
        i += x <= y
        j += y <= x
    return end


@kernel
def intersects(a: Int32, b: Int32) -> bool:
    """Whether any number is in both lists."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    place = int(np.int64(0))  # a typed zero: callees compile once
    for number in short:
        place = search(long, number, place)
        if place == len(long):
            return False
        if long[place] == number:
            return True
    return False


@kernel
def search(numbers: Int32, wanted: int, start: int) -> int:
    """The first place from `start` on with a number ≥ `wanted`: doubling steps, then halving."""
    step, low, high = 1, start, start
    while high < len(numbers) and numbers[high] < wanted:
        low = high + 1
        high += step
        step *= 2
    high = min(high, len(numbers))
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
