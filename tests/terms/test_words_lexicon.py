"""Misspelt words are read as words that documents have."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsgen.records import Document
from tsgen.terms.words import Counting, Lexicon, edits

TEXTS = {
    "1": "The monkey family: lemurs, baboons and the monkeys of Brazil.",
    "2": "Money, and where the money goes. Café prices.",
    "3": "Monkey business with money",
    "4": "The money of 1984",
}


@pytest.fixture
def lexicon() -> Lexicon:
    counting = Counting()
    documents = [Document(id, text) for id, text in TEXTS.items()]
    assert list(counting.passing(documents)) == documents
    return Lexicon(counting.frequencies)


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("is a lemurss a monke?", "is a lemurs a monkey?"),  # inserted, dropped
        ("Brazyl and bbaoons", "brazil and baboons"),  # replaced, transposed
        ("the monney", "the money"),
        ("monkey, money!", "monkey, money!"),  # as it stands
        ("cafe pricse", "cafe prices"),  # without its accent it is the same word
        ("the year 1985", "the year 1985"),  # a number is what it is
        ("teh xyzzy", "teh xyzzy"),  # too short, too far
    ],
)
def test_an_unknown_word_is_read_as_a_near_one(lexicon: Lexicon, query: str, read: str) -> None:
    assert lexicon.correct(query) == read


def test_of_two_near_words_the_more_frequent_one(lexicon: Lexicon) -> None:
    assert lexicon.nearest("monky") == "money"  # in three documents, monkey in two
    assert Lexicon({"lane": 1, "late": 2}).nearest("laze") == "late"
    assert (
        Lexicon({"lane": 2, "late": 2}).nearest("laze") == "late"
    )  # for a reader: always the same


def test_stop_words_only_if_there_is_no_other() -> None:
    assert Lexicon({"there": 100, "theme": 1}).nearest("thexe") == "theme"
    assert Lexicon({"there": 100}).nearest("thexe") == "there"


def test_a_word_that_is_known_otherwise_stays(lexicon: Lexicon) -> None:
    assert lexicon.correct("monked", {"monked"}) == "monked"
    assert lexicon.correct("monked") == "monkey"


def test_the_words_of_more_documents(lexicon: Lexicon) -> None:
    grown = lexicon.with_words(["gorilla", "gorilla"])
    assert grown.nearest("gorila") == "gorilla"
    assert lexicon.nearest("gorila") is None
    assert "gorilla" in grown
    assert "gorilla" not in lexicon
    twice = grown.with_words(["monkey", "monkey"])
    assert (lexicon.nearest("monky"), twice.nearest("monky")) == ("money", "monkey")


def test_saved_and_loaded(lexicon: Lexicon, tmp_path: Path) -> None:
    lexicon.with_words(["gorilla"]).save(tmp_path)
    assert Lexicon.load(tmp_path).nearest("bbaoons") == "baboons"
    assert Lexicon.load(tmp_path).nearest("gorila") == "gorilla"


def distance(one: str, other: str) -> int:
    """Edits between two words, the slow, obvious way; transposing neighbours is one."""
    if not one or not other:
        return len(one) + len(other)
    found = [
        distance(one[1:], other) + 1,
        distance(one, other[1:]) + 1,
        distance(one[1:], other[1:]) + (one[0] != other[0]),
    ]
    if one[:2] == other[:2][::-1] and len(one) > 1:
        found.append(distance(one[2:], other[2:]) + 1)
    return min(found)


@given(st.text("ab", max_size=4), st.text("ab", max_size=5))
def test_edits_are_all_words_at_distance_one(word: str, other: str) -> None:
    near = set(edits(word, "ab"))
    assert (other in near) == (distance(word, other) == 1 or (other == word and word != ""))
