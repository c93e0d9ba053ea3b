import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsgen.docids.spelling import subwords, words
from tsgen.errors import ConfigError

COMMA = 44


def letters(texts: list[str]) -> list[list[int]]:
    """A tokenizer with one piece a character."""
    return [[ord(c) for c in text] for text in texts]


def lower(texts: list[str]) -> list[list[int]]:
    """A tokenizer that cannot tell upper from lower case."""
    return letters([text.lower() for text in texts])


def test_a_word_is_one_symbol() -> None:
    spelling = words(3, first=10)
    assert [spelling.spell(term).tolist() for term in range(3)] == [[10], [11], [12]]
    assert spelling.sequence([2, 0]).tolist() == [12, 10]
    assert spelling.alphabet.tolist() == [10, 11, 12]


def test_pieces_and_a_terminator() -> None:
    spelling = subwords(["b", "ab", "a"], letters, COMMA)
    assert [spelling.spell(term).tolist() for term in range(3)] == [
        [98, 44],
        [97, 98, 44],
        [97, 44],
    ]
    assert spelling.term_of.tolist() == [2, 1, 0]  # "a," < "ab," < "b,"
    assert spelling.rank_of.tolist() == [2, 1, 0]
    assert len(spelling) == 3


def test_terminators_inside_a_term_are_left_out() -> None:
    spelling = subwords(["1,000"], letters, COMMA)
    assert bytes(spelling.spell(0).tolist()) == b"1000,"


def test_terms_that_look_alike_are_numbered() -> None:
    spelling = subwords(["A", "a", "a2", "", "B"], lower, COMMA)
    spelled = [bytes(spelling.spell(term).tolist()) for term in range(5)]
    assert spelled == [b"a,", b"a2,", b"a22,", b"2,", b"b,"]


def test_without_digits_terms_that_look_alike_are_refused() -> None:
    with pytest.raises(ConfigError, match="same pieces"):
        subwords(["x", "y"], lambda texts: [[7] for _ in texts], COMMA)


def test_no_terms() -> None:
    spelling = subwords([], letters, COMMA)
    assert len(spelling) == 0
    assert spelling.sequence([]).tolist() == []


@given(st.lists(st.text("aA,1", max_size=4), unique=True, max_size=12))
def test_spellings_are_prefix_free_and_sorted(terms: list[str]) -> None:
    spelling = subwords(terms, lower, COMMA)
    rows = [tuple(spelling.spell(int(term)).tolist()) for term in spelling.term_of]
    assert rows == sorted(set(rows))
    assert not any(a != b and b[: len(a)] == a for a in rows for b in rows)
    assert spelling.rank_of[spelling.term_of].tolist() == list(range(len(terms)))
    assert np.all(np.diff(spelling.offsets) >= 2)


@given(st.lists(st.text("aA,1", max_size=4), unique=True, min_size=1, max_size=12), st.data())
def test_a_sequence_is_one_spelling_after_the_other(terms: list[str], data: st.DataObject) -> None:
    spelling = subwords(terms, lower, COMMA)
    picked = data.draw(st.lists(st.integers(0, len(terms) - 1), max_size=6))
    expected = [token for term in picked for token in spelling.spell(term).tolist()]
    assert spelling.sequence(picked).tolist() == expected
