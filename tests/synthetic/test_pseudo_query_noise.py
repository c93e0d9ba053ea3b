"""Carelessness put on queries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.settings import NoiseConfig
from tsgen.synthetic.english import base, with_ending
from tsgen.synthetic.pseudo_query import ADDED, inflect, misspell, with_noise

QUIET = NoiseConfig(everyday=0, inflect=0, misspell=0, drop=0, add=0, lower=0)
seeds = st.integers(0, 2**32).map(np.random.default_rng)


def edits(a: str, b: str) -> int:
    """Edit distance with transpositions of neighbours, by the definition."""
    rows = np.zeros((len(a) + 1, len(b) + 1), int)
    rows[:, 0], rows[0] = range(len(a) + 1), range(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            change = rows[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            rows[i, j] = min(rows[i - 1, j] + 1, rows[i, j - 1] + 1, change)
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                rows[i, j] = min(rows[i, j], rows[i - 2, j - 2] + 1)
    return int(rows[-1, -1])


@settings(deadline=None)
@given(st.text(alphabet="abQyéş面", min_size=1, max_size=9), seeds)
def test_a_misspelling_is_one_edit(word: str, rng: np.random.Generator) -> None:
    assert edits(word, misspell(word, rng)) == 1


def test_all_sorts_of_misspellings() -> None:
    rng = np.random.default_rng(0)
    found = {misspell("cat", rng) for _ in range(5000)}
    assert {"act", "cta", "ct", "caat", "cst", "cxt"} <= found


@settings(deadline=None)
@given(seeds)
def test_only_one_content_word_is_misspelt(rng: np.random.Generator) -> None:
    words = with_noise(
        "who was the captain of it", rng, QUIET.model_copy(update={"misspell": 1.0})
    ).split()
    assert [*words[:3], *words[4:]] == ["who", "was", "the", "of", "it"]
    assert edits(words[3], "captain") == 1


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("cities", "city"),
        ("studied", "study"),
        ("churches", "church"),
        ("bass", "bass"),
        ("stopped", "stop"),
        ("moving", "move"),
        ("created", "create"),
        ("played", "play"),
        ("wrote", "write"),
        ("species", "species"),
        ("red", "red"),
    ],
)
def test_endings_come_off(word: str, expected: str) -> None:
    assert base(word) == expected


def test_endings_are_put_on() -> None:
    assert [with_ending(w, "s") for w in ("city", "day", "box")] == ["cities", "days", "boxes"]
    assert [with_ending("move", ending) for ending in ("ed", "ing")] == ["moved", "moving"]


def test_words_are_inflected_and_names_stay() -> None:
    found = {inflect("planet", np.random.default_rng(i)) for i in range(50)}
    assert found == {"planets", "planeted", "planeting"}
    assert inflect("planets", np.random.default_rng(0)) == "planet"
    assert inflect("Paris", np.random.default_rng(0)) == "Paris"


@settings(deadline=None)
@given(seeds)
def test_one_word_is_dropped_or_added(rng: np.random.Generator) -> None:
    words = ["one", "two", "three"]
    dropped = with_noise("one two three", rng, QUIET.model_copy(update={"drop": 1.0})).split()
    assert dropped in ([*words[:i], *words[i + 1 :]] for i in range(3))
    added = with_noise("one", rng, QUIET.model_copy(update={"add": 1.0})).split()
    assert len(added) == 2
    assert "one" in added
    assert {*added} - {"one"} <= {*ADDED}


def test_lower_case_and_everyday_words() -> None:
    rng = np.random.default_rng(0)
    assert with_noise("Jaws IS", rng, QUIET.model_copy(update={"lower": 1.0})) == "jaws is"
    config = QUIET.model_copy(update={"everyday": 1.0})
    assert with_noise("a novel filmed, a film", rng, config) == "a book filmed, a film"
