"""A random order of so many things without a list of them."""

ROUNDS = 4
_MASK = (1 << 64) - 1


def shuffled(place: int, size: int, key: int) -> int:
    """The place that `place` has in the random order with this key: a permutation of 0 … size − 1.

    A Feistel network permutes the numbers of an even count of bits; a result that is too large is
    permuted again until it is not, which takes less than four rounds of it on average.
    """
    half = max((size - 1).bit_length() + 1, 2) // 2
    while True:
        place = _feistel(place, half, key)
        if place < size:
            return place


def _feistel(number: int, half: int, key: int) -> int:
    low_bits = (1 << half) - 1
    left, right = number >> half, number & low_bits
    for step in range(ROUNDS):
        left, right = right, left ^ (mixed(key ^ step << 60 ^ right) & low_bits)
    return left << half | right


def mixed(*numbers: int) -> int:
    """A hash of numbers ≥ 0 below 2^64, in 64 bits."""
    found = 0
    for number in numbers:
        found = _mix(found ^ number)
    return found


def _mix(number: int) -> int:
    """SplitMix64's output function: every bit of the number tells in every bit of the result."""
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _MASK
    return number ^ number >> 31
