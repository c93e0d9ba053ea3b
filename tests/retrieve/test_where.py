"""Filters: what they let through, and what is said when they cannot be understood."""

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsgen.errors import WhereError
from tsgen.retrieve.filters import parse

ROW = {
    "lang": "en",
    "year": 2020,
    "score": 0.5,
    "draft": False,
    "tags": ["cold", "wet", 7],
    "note": None,
    "author": {"name": "Ann", "born.in": 1950},
    "a.b": "flat",
    "file name": "x.md",
}


@pytest.mark.parametrize(
    ("where", "passes"),
    [
        ('lang = "en"', True),
        ("lang == 'en'", True),
        ('lang = "de"', False),
        ('lang != "de"', True),
        ('missing != "de"', True),
        ('missing = "de"', False),
        ("year >= 2020 and year <= 2020.0", True),
        ("year > 2020", False),
        ("year < 2.1e3", True),
        ("year > -1", True),
        ('year > "1"', False),
        ('not year > "1"', True),
        ('lang > "de" and lang < "fr"', True),
        ("missing < 5 or missing >= 5", False),
        ("draft = false", True),
        ("draft = 0", False),
        ("draft != true", True),
        ("note = null and missing = null", True),
        ("note exists or missing exists", False),
        ("draft exists", True),
        ("not (lang exists)", False),
        ('lang in ("de", "en")', True),
        ("year in (1, 2)", False),
        ("year not in (1, 2)", True),
        ("missing in (null)", True),
        ('tags contains "wet"', True),
        ("tags contains 7", True),
        ('tags contains "we"', False),
        ('lang contains "n"', True),
        ("year contains 2", False),
        ('author.name = "Ann"', True),
        ("author.age = 3", False),
        ('a.b = "flat"', True),
        ('"file name" = "x.md"', True),
        ('lang = "de" or year = 2020 and draft = true', False),
        ('(lang = "de" or year = 2020) and draft = false', True),
        ("not not lang exists", True),
        ("not lang exists or year exists", True),
        (r'lang = "e\"n"', False),
    ],
)
def test_what_passes(where: str, passes: bool) -> None:
    assert parse(where)(ROW) is passes


def test_strings_with_quotes_and_escapes() -> None:
    assert parse(r'a = "say \"hi\"\n\\"')({"a": 'say "hi"\n\\'})
    assert parse("a = 'it\\'s \"so\"'")({"a": 'it\'s "so"'})


@pytest.mark.parametrize(
    ("where", "place", "message"),
    [
        ("", 1, "found the end, expected a field, 'not' or '('"),
        ("lang", 5, "found the end, expected =, !=, <, <=, >, >=, in, contains or exists"),
        ("lang = en", 8, "found 'en', expected a value: a string in quotes"),
        ('lang = "en', 8, 'a string that starts with " and has no end'),
        ('lang = "en" year', 13, "found 'year', expected 'and', 'or' or the end"),
        ("(a exists", 10, "found the end, expected 'and', 'or' or ')'"),
        ("a in 5", 6, "found '5', expected '('"),
        ("a in ()", 7, "found ')', expected a value"),
        ("a in (1 2)", 9, "found '2', expected ',' or ')'"),
        ("a not 5", 7, "found '5', expected 'in'"),
        ("1 = 1", 1, "found '1', expected a field"),
        ("a = 1; drop", 6, "found ';', expected a name"),
        ("a = 1x", 5, "found what is no number"),
        ("and", 1, "found 'and', expected a field"),
    ],
)
def test_the_place_of_an_error(where: str, place: int, message: str) -> None:
    with pytest.raises(WhereError, match=re.escape(message)) as error:
        parse(where)
    said, shown, caret, example = str(error.value).split("\n")
    assert f"at character {place}:" in said
    assert shown == f"  {where}"
    assert caret == " " * (place + 1) + "^"
    assert 'lang = "en" and year >= 2020' in example


def test_limits() -> None:
    assert parse("not " * 99 + "a exists")({})
    with pytest.raises(WhereError, match="at most 100 parentheses"):
        parse("(" * 101 + "a exists" + ")" * 101)
    with pytest.raises(WhereError, match="expected 10,000 at most"):
        parse("a exists or " * 1000 + "a exists")


def test_a_long_filter_shows_the_stretch_around_the_error() -> None:
    with pytest.raises(WhereError) as error:
        parse("a = 1 and " * 50 + "b")
    _, shown, caret, _ = str(error.value).split("\n")
    assert len(shown) < 90
    assert len(caret) == len(shown) + 1


values = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from("ab"))
names = st.sampled_from(["x", "y"])


def spelled(value: Any) -> str:
    known = {None: "null", True: "true", False: "false"}
    return known[value] if value is None or isinstance(value, bool) else repr(value)


@st.composite
def filters(draw: st.DrawFn, depth: int = 3) -> tuple[str, Any]:
    """A filter and, as a nested tuple, what it means."""
    kind = draw(st.sampled_from(["=", "!=", "<", ">=", "and", "or", "not"][: 7 if depth else 4]))
    if kind == "not":
        text, meaning = draw(filters(depth - 1))
        return f"not ({text})", ("not", meaning)
    if kind in ("and", "or"):
        (one, first), (other, second) = draw(filters(depth - 1)), draw(filters(depth - 1))
        return f"({one}) {kind} ({other})", (kind, first, second)
    name, value = draw(names), draw(values)
    return f"{name} {kind} {spelled(value)}", (kind, name, value)


def means(meaning: Any, row: dict[str, Any]) -> bool:
    kind, *parts = meaning
    if kind == "not":
        return not means(parts[0], row)
    if kind in ("and", "or"):
        found = [means(part, row) for part in parts]
        return all(found) if kind == "and" else any(found)
    mine, value = row.get(parts[0]), parts[1]
    number = {type(mine), type(value)} == {int}
    same = type(mine) is type(value)
    if kind in ("=", "!="):
        return (same and mine == value) is (kind == "=")
    if not (number or (same and isinstance(mine, str))):
        return False
    return bool(mine < value if kind == "<" else mine >= value)


@given(filters(), st.dictionaries(names, values))
def test_filters_mean_what_they_say(written: tuple[str, Any], row: dict[str, Any]) -> None:
    text, meaning = written
    assert parse(text)(row) is means(meaning, row)


@given(st.text(max_size=30))
def test_any_text_is_a_filter_or_a_filter_error(text: str) -> None:
    with suppress(WhereError):
        parse(text)({})
