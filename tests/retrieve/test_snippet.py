"""Snippets: the right stretch of the text, and the query's words marked."""

from hypothesis import given
from hypothesis import strategies as st

from tsgen.retrieve.results import _matches, mark, query_keys, snippet
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


PLACES = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 9), st.sampled_from("abc")).map(
        lambda drawn: (drawn[0], drawn[0] + drawn[1], drawn[2])
    ),
    unique=True,
)


@given(PLACES, st.integers(0, 30))
def test_the_words_inside_each_stretch_are_counted(
    places: list[tuple[int, int, str]], width: int
) -> None:
    slow = {
        begin: len({key for start, end, key in places if begin <= start and end <= begin + width})
        for begin in (0, *sorted(start for start, _, _ in places))
    }
    assert list(_matches(places, width).items()) == list(slow.items())


@given(st.text("ab .é", max_size=200), st.text("ab ", max_size=10), st.integers(1, 60))
def test_a_piece_of_the_text_no_longer_than_asked(text: str, query: str, width: int) -> None:
    shown, _ = marked(text, query, width)
    inner = shown.removeprefix("… ").removesuffix(" …")
    assert len(inner) <= width
    assert inner in text
