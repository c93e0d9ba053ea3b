"""The words of a filter: names, strings, numbers and signs, each with its place."""

import re
from typing import Any, NamedTuple

from tsgen.errors import WhereError

LONGEST = 10_000
KEYWORDS = ("and", "or", "not", "in", "contains", "exists")
_PATTERN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<name>[^\W\d][\w.-]*)
    |(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<sign>!=|<=|>=|==|=|<|>)
    |(?P<mark>[(),])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t"}


class Token(NamedTuple):
    """`kind` is name, string, number, sign, end, or the keyword or mark itself."""

    kind: str
    value: Any
    text: str
    start: int


def tokens(text: str) -> list[Token]:
    """All of them, and one of kind `end`."""
    if len(text) > LONGEST:
        raise WhereError(text, LONGEST, f"{len(text):,} characters, expected {LONGEST:,} at most")
    found, at = [], 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        if match is None:
            raise WhereError(text, at, _unreadable(text[at]))
        if match.lastgroup != "space":
            found.append(_token(str(match.lastgroup), match.group(), at))
        at = match.end()
    return [*found, Token("end", None, "", len(text))]


def _token(kind: str, text: str, start: int) -> Token:
    if kind == "mark" or (kind == "name" and text in KEYWORDS):
        return Token(text, text, text, start)
    if kind == "string":
        inner = re.sub(r"\\(.)", _unescaped, text[1:-1], flags=re.DOTALL)
        return Token(kind, inner, text, start)
    if kind == "number":
        plain = re.fullmatch(r"[-+]?\d{1,18}", text)
        return Token(kind, int(text) if plain else float(text), text, start)
    return Token(kind, "=" if text == "==" else text, text, start)


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match.group(1), match.group(1))


def _unreadable(character: str) -> str:
    if character in "\"'":
        return f"a string that starts with {character} and has no end"
    if character in "+-." or character.isdigit():
        return "found what is no number; a name starts with a letter, a string has quotes"
    return f"found {character!r}, expected a name, a string in quotes, a number or a sign"
