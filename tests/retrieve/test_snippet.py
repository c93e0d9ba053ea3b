"""Snippets: the right stretch of the text, and the query's words marked."""

from hypothesis import given
from hypothesis import strategies as st

from tsgen.retrieve.results import mark, query_keys, snippet
from tsgen.terms.words import Splitter

SPLITTER = Splitter()


def marked(text: str, query: str, width: int = 160) -> tuple[str, list[str]]:
    found = snippet(text, query_keys(query, SPLITTER), SPLITTER, width)
    return found.text, [found.text[start:end] for start, end in found.spans]


def test_words_of_one_stem_are_marked() -> None:
    found = mark("Breads, and an Egg.", query_keys("the bread with eggs", SPLITTER), SPLITTER)
    assert [found.text[start:end] for start, end in found.spans] == ["Breads", "Egg"]


def test_the_stretch_with_most_of_the_query() -> None:
    text = f"Bread {'is old ' * 30}white bread has sodium {'and more ' * 30}"
    shown, words = marked(text, "sodium in white bread", width=40)
    assert words == ["white", "bread", "sodium"]
    assert shown.startswith("… ")
    assert shown.endswith(" …")


def test_a_short_text_is_shown_whole() -> None:
    assert marked("White bread.", "egg") == ("White bread.", [])


def test_nothing_to_show() -> None:
    assert marked("", "egg") == ("", [])


@given(st.text("ab .é", max_size=200), st.text("ab ", max_size=10), st.integers(1, 60))
def test_a_piece_of_the_text_no_longer_than_asked(text: str, query: str, width: int) -> None:
    shown, _ = marked(text, query, width)
    inner = shown.removeprefix("… ").removesuffix(" …")
    assert len(inner) <= width
    assert inner in text
