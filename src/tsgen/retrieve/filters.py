"""Filters over metadata, as in  lang = "en" and (year >= 2020 or not draft exists).

    filter     = and {"or" and}
    and        = not {"and" not}
    not        = "not" not | "(" filter ")" | field test
    test       = ("=" | "!=" | "<" | "<=" | ">" | ">=") value | "contains" value | "exists"
               | ["not"] "in" "(" value {"," value} ")"
    field      = name | string       (a.b is the field b inside the field a)
    value      = string | number | "true" | "false" | "null"

A field that is missing equals null and nothing else. Numbers compare with numbers and strings with
strings; what cannot be compared is false, so `!=` is true for it. `contains` looks for a value in a
list, or for a string in a string. Nothing is ever evaluated but this.
"""

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from tsgen.errors import WhereError

# The words of a filter: names, strings, numbers and signs, each with its place.

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
    """The tokens of a filter, followed by one of kind `end`."""
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


Passes = Callable[[Mapping[str, Any]], bool]
"""Whether a document with this metadata is wanted."""

DEEPEST = 100  # parentheses and "not" inside one another
_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_VALUES = {"true": True, "false": False, "null": None}


@lru_cache(256)
def parse(where: str) -> Passes:
    """The test of a document's metadata that a filter expresses; a filter that cannot be understood
    raises a `WhereError` that says where."""
    parser = _Parser(where)
    passes = parser.filter()
    parser.expect("end")
    return passes


class _Parser:
    """A recursive descent parser that looks one token ahead."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._at, self._depth = text, tokens(text), 0, 0

    def filter(self) -> Passes:
        """Parse filters joined by "or"."""
        found = [self._and()]
        while self._skip("or"):
            found.append(self._and())
        return found[0] if len(found) == 1 else lambda row: any(passes(row) for passes in found)

    def expect(self, kind: str, wanted: str | None = None) -> Token:
        """Take the next token, which must be of this kind."""
        if self._next.kind != kind:
            raise self._error(wanted or _KINDS.get(kind, repr(kind)))
        return self._skip_token()

    def _and(self) -> Passes:
        found = [self._not()]
        while self._skip("and"):
            found.append(self._not())
        return found[0] if len(found) == 1 else lambda row: all(passes(row) for passes in found)

    def _not(self) -> Passes:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(f"at most {DEEPEST} parentheses and 'not' inside one another")
        if self._skip("not"):
            passes = _negated(self._not())
        elif self._skip("("):
            passes = self.filter()
            self.expect(")", "'and', 'or' or ')'")
        else:
            passes = self._test()
        self._depth -= 1
        return passes

    def _test(self) -> Passes:
        if self._next.kind not in ("name", "string"):
            raise self._error("a field, 'not' or '('")
        field = _field(str(self._skip_token().value))
        if self._skip("exists"):
            return lambda row: field(row) is not None
        if self._skip("contains"):
            value = self._value()
            return lambda row: _contains(field(row), value)
        negative = self._skip("not")
        if negative or self._next.kind == "in":
            self.expect("in")
            values = self._values()
            passes: Passes = lambda row: any(_equal(field(row), value) for value in values)  # noqa: E731
            return _negated(passes) if negative else passes
        return self._comparison(field)

    def _comparison(self, field: Callable[[Mapping[str, Any]], Any]) -> Passes:
        sign = self.expect("sign").value
        value = self._value()
        if sign in _ORDERS:
            compare = _ORDERS[sign]
            return lambda row: _comparable(found := field(row), value) and compare(found, value)
        equals: Passes = lambda row: _equal(field(row), value)  # noqa: E731
        return _negated(equals) if sign == "!=" else equals

    def _values(self) -> list[Any]:
        self.expect("(")
        values = [self._value()]
        while self._skip(","):
            values.append(self._value())
        self.expect(")", "',' or ')'")
        return values

    def _value(self) -> Any:
        if self._next.kind in ("string", "number"):
            return self._skip_token().value
        if self._next.kind == "name" and self._next.value in _VALUES:
            return _VALUES[self._skip_token().value]
        raise self._error("a value: a string in quotes, a number, true, false or null")

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _skip(self, kind: str) -> bool:
        if self._next.kind != kind:
            return False
        self._at += 1
        return True

    def _skip_token(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _error(self, expected: str) -> WhereError:
        found = "the end" if self._next.kind == "end" else repr(self._next.text)
        return WhereError(self._text, self._next.start, f"found {found}, expected {expected}")


_KINDS = {
    "sign": "=, !=, <, <=, >, >=, in, contains or exists",
    "end": "'and', 'or' or the end",
}


def _negated(passes: Passes) -> Passes:
    return lambda row: not passes(row)


def _field(name: str) -> Callable[[Mapping[str, Any]], Any]:
    """The metadata value under a name, or at the end of a path of names; None if there is none."""
    path = name.split(".")

    def value(row: Mapping[str, Any]) -> Any:
        if name in row or len(path) == 1:
            return row.get(name)
        found: Any = row
        for step in path:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found

    return value


def _kind(value: Any) -> type:
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def _comparable(one: Any, other: Any) -> bool:
    return _kind(one) is _kind(other) and _kind(one) in (float, str)


def _equal(one: Any, other: Any) -> bool:
    return _kind(one) is _kind(other) and bool(one == other)


def _contains(found: Any, value: Any) -> bool:
    if isinstance(found, list | tuple):
        return any(_equal(one, value) for one in found)
    return isinstance(found, str) and isinstance(value, str) and value in found
