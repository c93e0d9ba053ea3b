"""Pseudo-queries: what every one of them has, and what each kind is."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.errors import ConfigError
from tsgen.records import Document
from tsgen.settings import KINDS, NoiseConfig, PseudoQueryConfig
from tsgen.synthetic.prepared import Prepared, content_words, without_parentheses
from tsgen.synthetic.pseudo_query import pseudo_query

QUIET = NoiseConfig(everyday=0, inflect=0, misspell=0, drop=0, add=0, lower=0)
MERCURY = Document(
    "m",
    "Mercury (/ˈmɜːrkjʊri/) is the smallest planet in the Solar System. It was observed by "
    "Timocharis in 265 BC. It has 3 long scarps, no moons and a thin exosphere. Its surface is "
    "heavily cratered, which shows that nothing happened there for billions of years.",
    "Mercury (planet)",
)
texts = st.text(alphabet=st.sampled_from("ab Zé9.,()[]?!'\n#=面包。-"), max_size=60)


def only(kind: str, noise: NoiseConfig = QUIET) -> PseudoQueryConfig:
    return PseudoQueryConfig(
        **{name: float(name == kind) for name in KINDS}, question_mark=0, noise=noise
    )


def made(document: Document, kind: str, count: int = 200) -> set[str]:
    config, prepared = only(kind), Prepared(document)
    return {pseudo_query(prepared, np.random.default_rng(i), config) for i in range(count)}


@settings(deadline=None)
@given(texts, texts, st.sampled_from(KINDS), st.integers(0, 2**32))
def test_never_empty_and_on_one_line(text: str, title: str, kind: str, seed: int) -> None:
    document = Document("id7", text, title)
    noisy = only(kind, NoiseConfig(everyday=1, inflect=1, misspell=1, drop=1, add=0, lower=1))
    for config in (only(kind), noisy, PseudoQueryConfig()):
        query = pseudo_query(document, np.random.default_rng(seed), config)
        assert query
        assert query == " ".join(query.split())


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_the_same_from_a_prepared_document_used_before(seed: int) -> None:
    prepared, config = Prepared(MERCURY), PseudoQueryConfig()
    pseudo_query(prepared, np.random.default_rng(seed + 1), config)
    fresh = pseudo_query(MERCURY, np.random.default_rng(seed), config)
    assert pseudo_query(prepared, np.random.default_rng(seed), config) == fresh


def test_the_same_whatever_the_hash_seed() -> None:
    program = (
        "import numpy as np\n"
        "from tsgen.synthetic.pseudo_query import PseudoQueryConfig, pseudo_query\n"
        "from tsgen.records import Document\n"
        f"document = Document('m', {MERCURY.text!r}, {MERCURY.title!r})\n"
        "rng = np.random.default_rng(0)\n"
        "print([pseudo_query(document, rng, PseudoQueryConfig()) for _ in range(200)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_titles_with_and_without_the_qualifier_and_telling_words() -> None:
    queries = made(MERCURY, "title")
    assert {"Mercury", "Mercury planet"} <= queries
    assert "Mercury smallest" in queries
    assert all("Mercury" in query for query in queries)


def test_sentences_end_with_a_clause_and_know_their_subject() -> None:
    queries = made(MERCURY, "sentence")
    assert {
        "Mercury is the smallest planet in the Solar System",
        "Mercury was observed by Timocharis in 265 BC",
        "was observed by Timocharis in 265 BC",
        "Mercury surface is heavily cratered",
    } <= queries
    assert all(len(query.split()) <= 14 for query in queries)


@pytest.mark.parametrize(
    "expected",
    [
        "what is Mercury",
        "which smallest planet in the Solar System",
        "what kind of planet is Mercury",
        "who observed Mercury",
        "how many scarps does Mercury have",
    ],
)
def test_questions(expected: str) -> None:
    assert expected in made(MERCURY, "question", 600)


def test_questions_about_people_and_years() -> None:
    text = "Ada Byron was an English writer. She moved to Ockham Park in 1835. She likes tea."
    queries = made(Document("a", text, "Ada Byron"), "question", 600)
    assert {
        "who was Ada Byron",
        "when did Ada Byron move to Ockham Park",
        "what year did Ada Byron move to Ockham Park",
    } <= queries
    assert any(query.endswith("Ada Byron likes tea") for query in queries)  # fits no pattern
    assert all(len(query.split()) <= 11 for query in queries)


def test_aspects_go_by_the_sort_of_thing() -> None:
    film = Document("f", "Jaws is a 1975 American thriller film by a director.", "Jaws (film)")
    assert "who directed Jaws" in made(film, "aspect")
    director = Document("d", "Al Fi is a film director and actor from a town.", "Al Fi")
    assert "how old is Al Fi" in made(director, "aspect")
    assert "how old is Bo" in made(Document("b", "Bo made pots. He died.", "Bo"), "aspect")
    assert "what does Entropy mean" in made(Document("e", "It grows.", "Entropy"), "aspect")


@settings(deadline=None)
@given(texts, texts, st.integers(0, 2**32))
def test_keywords_are_words_of_the_document(text: str, title: str, seed: int) -> None:
    document = Document("id7", text, title)
    there = {*content_words(title), *content_words(text)}
    query = pseudo_query(document, np.random.default_rng(seed), only("keywords"))
    if there:
        assert set(query.split()) <= there
        assert 1 <= len(query.split()) <= 6


def test_no_half_word_of_a_long_text() -> None:
    assert set(Prepared(Document("w", "wordy. " * 999)).weights) == {"wordy"}


def test_keywords_prefer_the_title_to_the_end_of_the_text() -> None:
    config, prepared = only("keywords"), Prepared(MERCURY)
    bags = [pseudo_query(prepared, np.random.default_rng(i), config) for i in range(300)]
    assert sum("mercury" in bag for bag in bags) > 2 * sum("billions" in bag for bag in bags)


def test_parentheses_go_without_joining_words() -> None:
    assert without_parentheses("Ada (born (in) 1815), a(x)b [1] c (d).") == "Ada, a b c."


def test_a_document_without_anything_has_its_id() -> None:
    assert {q for kind in KINDS for q in made(Document("w7", " ...\n"), kind, 5)} == {"w7"}


def test_question_marks_end_questions_only() -> None:
    config = only("question").model_copy(update={"question_mark": 1.0})
    assert pseudo_query(MERCURY, np.random.default_rng(0), config).endswith("?")
    config = only("keywords").model_copy(update={"question_mark": 1.0})
    assert not pseudo_query(MERCURY, np.random.default_rng(0), config).endswith("?")


def test_some_kind_must_have_a_share() -> None:
    with pytest.raises(ConfigError, match="a share above 0"):
        PseudoQueryConfig.from_mapping(dict.fromkeys(KINDS, 0))
