"""Misspelt words are read as words that documents have."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsgen.records import Document
from tsgen.terms.words import Counting, Lexicon, edits, normalise

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


@pytest.mark.parametrize("word", ["isn't", "can't", "don't", "isn’t", "can’t", "donʼt"])
def test_contractions_are_right(word: str) -> None:
    near = Lexicon({"int": 9, "isn": 9, "isnot": 9, "can": 9, "cant": 9, "done": 9, "dont": 9})
    assert near.correct(f"it {word} work") == f"it {word} work"


@pytest.mark.parametrize(
    ("word", "near", "base"),
    [
        ("retraining", "pretraining", "train"),
        ("zorgs", "zorgz", "zorg"),
        ("glitching", "glitchings", "glitch"),
        ("zimmed", "zimmer", "zim"),  # a doubled letter
        ("blorking", "blarking", "blorke"),  # an e that the ending takes
        ("florgies", "florgier", "florgy"),
        ("zorchly", "zorthly", "zorch"),
        ("preflorg", "preflora", "florg"),
        ("unzorched", "inzorched", "zorch"),
        ("zorbably", "zorbibly", "zorbable"),
    ],
)
def test_inflections_of_right_words_are_right(word: str, near: str, base: str) -> None:
    assert Lexicon({near: 9, base: 1}).correct(f"the {word} of it") == f"the {word} of it"
    assert Lexicon({near: 9}).correct(f"the {word} of it", {base}) == f"the {word} of it"


@pytest.mark.parametrize("word", ["preflorg", "unzorched", "zorgs"])
def test_without_its_base_the_same_word_is_misspelt(word: str) -> None:
    assert Lexicon({f"{word}x": 1}).correct(word) == f"{word}x"


def test_a_short_word_doubles_its_letter_before_an_ending() -> None:
    assert Lexicon({"bread": 9}).correct("braed zimmed", {"bra", "zim"}) == "bread zimmed"


def test_english_words_are_right_although_no_document_has_them() -> None:
    near = Lexicon({"sink": 9, "inert": 9, "new": 9, "now": 9, "warming": 9})
    assert near.correct("kink, invert anew; harming") == "kink, invert anew; harming"


CODES = """braed_x x_braed braed.py braed.py. /braed etc/braed 4braed braed2 BRAED brAed BraedX
    braed() braed(x) --braed -braed @braed #braed $braed <braed> braed=1 a.braed std::braed braed's
    'braed' https://braed 1,000braed ~braed braed* %braed Rye-Braed""".split()


@pytest.mark.parametrize("code", CODES)
def test_what_looks_like_code_stays(code: str) -> None:
    lexicon = Lexicon({"bread": 9})
    assert lexicon.correct(f"how {code} works") == f"how {code} works"


def test_punctuation_around_a_word_and_hyphens_are_not_code() -> None:
    lexicon = Lexicon({"bread": 9})
    typed = 'Braed, (braed) “braed” "braed"? rye-braed: braed…'
    read = 'bread, (bread) “bread” "bread"? rye-bread: bread…'
    assert lexicon.correct(typed) == read


def test_scripts_without_spaces_stay() -> None:
    assert Lexicon({"全文検素": 9}).correct("全文検索 全文検索") == "全文検索 全文検索"


WORDS = st.text("abcdeé", min_size=1, max_size=8).map(normalise)


@given(st.dictionaries(WORDS, st.integers(1, 9), min_size=1), st.data())
def test_a_word_of_a_document_is_never_changed(
    frequencies: dict[str, int], data: st.DataObject
) -> None:
    query = data.draw(st.lists(st.sampled_from(sorted(frequencies)), min_size=1).map(" ".join))
    assert Lexicon(frequencies).correct(query) == query


@given(st.text(), st.dictionaries(WORDS, st.integers(1, 9)))
def test_a_correction_keeps_the_tokens(query: str, frequencies: dict[str, int]) -> None:
    read = Lexicon(frequencies).correct(query)
    changed = [pair for pair in zip(query.split(), read.split(), strict=True) if len({*pair}) > 1]
    assert all(part not in token for token, _ in changed for part in "'’_/\\0123456789")
    assert Lexicon(frequencies).correct(read) == read


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
