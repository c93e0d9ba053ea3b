"""Broken versions of valid inputs: bytes changed, left out, repeated, put in, nested."""

import gzip
import random

import zstandard

TOKENS = [
    *(
        b"\x00",
        b"\xff",
        b"\xfe\xff",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\r",
        b"\n",
        b"\r\n",
        b"\t",
    ),
    *(b'"', b"'", b"`", b"```\n", b"~~~\n", b"<!--", b"-->", b"<script>", b"[", b"]", b"](", b"{"),
    *(b"}", b"[[", b"![", b"---\n", b"+++\n", b".. ", b"::", b"&#0;", b"&#xfdd0;", b"\\ud800"),
    *(b"1e999", b"-1", b"0", b"9" * 30, b"9" * 5000, b"NaN", b"null", b"true", b"not ", b" and "),
    *(
        b"<top>",
        b"</top>",
        b"<num>",
        b"\x1b[2J",
        b"*",
        b"_",
        b"# ",
        b"====\n",
        b" ",
        b"\\",
        b"=",
        b"(",
    ),
    *("\ufdd0".encode(), "\ufdd1".encode(), "\u202e".encode(), "é".encode(), "汉字".encode()),
]
REPEATS = (2, 20, 500, 20_000)
LARGEST = 2**17  # bytes of an input


def mutated(rng: random.Random, seeds: list[bytes]) -> bytes:
    """One input: a seed after one to six changes."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.randrange(1, 7)):
        rng.choice(CHANGES)(rng, data)
    return bytes(data[:LARGEST])


def packed(rng: random.Random, data: bytes) -> bytes:
    """The input as it is, compressed, or compressed and then damaged."""
    kind = rng.randrange(8)
    if kind > 2:
        return data
    made = gzip.compress(data, 1) if kind else zstandard.ZstdCompressor(1).compress(data)
    if kind == 2:
        damaged = bytearray(made)
        _flip(rng, damaged)
        return bytes(damaged[: rng.randrange(len(damaged) + 1)])
    return made


def _flip(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.randrange(1, 8)):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)


def _leave_out(rng: random.Random, data: bytearray) -> None:
    start = rng.randrange(len(data) + 1)
    del data[start : start + rng.randrange(40)]


def _cut(rng: random.Random, data: bytearray) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _put_in(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data) + 1)
    data[place:place] = rng.choice(TOKENS)


def _repeat_token(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data) + 1)
    data[place:place] = rng.choice(TOKENS) * rng.choice(REPEATS)
    del data[LARGEST:]


def _repeat_part(rng: random.Random, data: bytearray) -> None:
    start = rng.randrange(len(data) + 1)
    data[start:start] = data[start : start + rng.randrange(1, 30)] * rng.choice(REPEATS)
    del data[LARGEST:]


CHANGES = (_flip, _leave_out, _cut, _put_in, _repeat_token, _repeat_part)
