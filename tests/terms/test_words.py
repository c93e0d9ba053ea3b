"""Words: every rule of the module's docstring, by example and by property."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsgen.errors import ConfigError
from tsgen.settings import WordsConfig
from tsgen.terms.words import Splitter, normalise

PLAIN = Splitter(WordsConfig(stop_words="none", stem="none"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("White bread, sodium!", ["white", "bread", "sodium"]),
        ("the U.S.A. and e.g. this", ["the", "usa", "and", "eg", "this"]),
        ("3.14 or 1,000 or 1990s", ["3.14", "or", "1000", "or", "1990s"]),
        ("well-known well known", ["well", "known", "well", "known"]),
        ("O’Neill's don't 'quoted'", ["oneill", "dont", "quoted"]),
        ("Café Cafe\u0301 ÅNGSTRÖM", ["cafe", "cafe", "angstrom"]),
        ("Straße ﬁnd ４２", ["strasse", "find", "42"]),
        ("Санкт-Петербу́рг", ["санкт", "петербург"]),
        ("北京大学 x", ["北京", "京大", "大学", "x"]),
        ("東 สวัสดี", ["東", "สว", "วั", "ัส", "สด", "ดี"]),
        ("हिन्दी भाषा 서울", ["हिन्दी", "भाषा", "서울"]),
        ("under_score a1b2", ["under", "score", "a1b2"]),
        ("... --- ''", []),
        ("", []),
    ],
)
def test_words_have_one_spelling(text: str, words: list[str]) -> None:
    assert [word.text for word in PLAIN.split(text)] == words


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=60))
def test_both_patterns_agree_on_ascii(text: str) -> None:
    fast = PLAIN.spellings(text)
    assert fast == [word.text for word in PLAIN.split(text)]
    assert fast == PLAIN.spellings(text + " é")[:-1]  # one accent sends it down the Unicode path


@given(st.text(max_size=60))
def test_spans_point_at_the_word(text: str) -> None:
    for word in PLAIN.split(text):
        assert word.text
        assert normalise(text[word.start : word.end]) == word.text


@given(st.text(max_size=40))
def test_spelling_is_stable(text: str) -> None:
    words = PLAIN.spellings(text)
    assert PLAIN.spellings(" ".join(words)) == words or not text.isascii()


PAPER = Splitter(WordsConfig(split="spaces", stop_words="none", stem="none"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "The well-known (white) bread's 3.14, and/or U.S.A.!",
            "the well-known white bread 3.14 and/or usa",
        ),
        ("“quoted” don't -- Café—bar", "quoted dont café—bar"),
        ("a  b\nc\t...", "a b c"),
        ("北京大学-x y", "北京 京大 大学 x y"),
        ("... --- ''", ""),
    ],
)
def test_between_spaces_as_in_the_paper(text: str, words: str) -> None:
    found = PAPER.split(text)
    assert [word.text for word in found] == words.replace("é", "e").split()
    assert PAPER.spellings(text) == [word.text for word in found]
    for word in found:
        assert normalise(text[word.start : word.end]) == word.text


@given(st.text(max_size=60))
def test_between_spaces_both_ways_agree(text: str) -> None:
    found = PAPER.split(text)
    assert PAPER.spellings(text) == [word.text for word in found]
    assert all(normalise(text[w.start : w.end]) == w.text and w.text for w in found)


ENGLISH, PAIRS = Splitter(), Splitter(WordsConfig(ngrams=2))


@pytest.mark.parametrize("splitter", [ENGLISH, PLAIN, PAIRS, PAPER])
@given(
    st.lists(
        st.sampled_from("Rye ryes' bread, the Bread's U.S. 1,000 café é é-bread 北京大学".split())
    )
)
def test_places_of_some_words_are_those_of_all_words_with_their_keys(
    splitter: Splitter, parts: list[str]
) -> None:
    text = " ".join(parts)
    words = [(word.start, word.end, splitter.key(word.text)) for word in splitter.split(text)]
    keys = {splitter.key(word) for word in ("bread", "rye", "us", "the", "rye bread", "é")}
    assert splitter.places(text, keys) == [word for word in words if word[2] in keys]
    assert len(splitter.places(text, {word[2] for word in words})) == len(words)


def test_stop_words_are_dropped() -> None:
    assert Splitter().spellings("What is the sodium level") == ["sodium", "level"]


def test_stems_group_words_and_ngrams() -> None:
    splitter = Splitter()
    assert splitter.key("breads") == splitter.key("bread") == "bread"
    assert splitter.key("running shoes") == "run shoe"
    assert PLAIN.key("breads") == "breads"


def test_ngrams_stay_between_punctuation_and_off_stop_words() -> None:
    splitter = Splitter(WordsConfig(ngrams=3))
    words = [w.text for w in splitter.split("sodium in white-bread, level")]
    assert words == ["sodium", "white", "bread", "level", "sodium in white", "white bread"]


def test_ngram_spans_cover_their_words() -> None:
    splitter = Splitter(WordsConfig(ngrams=2))
    text = "white bread"
    assert splitter.split(text)[-1] == ("white bread", 0, len(text))


def test_unknown_stemmer_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="'english'"):
        WordsConfig.from_mapping({"stem": "englsh"})
