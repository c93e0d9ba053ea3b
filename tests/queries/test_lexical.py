"""Lexical search: bm25s' scores, ties in document order, only documents that match."""

from pathlib import Path

import bm25s
import numpy as np
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from oracle.bm25 import bm25_scores
from tsgen.errors import ConfigError
from tsgen.queries.lexical import LexicalConfig, LexicalIndex, top_documents

PLAIN = LexicalConfig(stemmer="none", stop_words="none")
WORDS = st.lists(st.sampled_from(["ab", "cd", "ef", "gh"]), max_size=6)


def hits(index: LexicalIndex, query: str, k: int = 10) -> list[int]:
    positions, _ = index.top_k([query], k)
    return [p for p in positions[0].tolist() if p >= 0]


@given(st.lists(WORDS, min_size=1, max_size=8), WORDS, st.integers(1, 10))
def test_equals_the_formula(documents: list[list[str]], query: list[str], k: int) -> None:
    index = LexicalIndex.build(map(" ".join, documents), PLAIN)
    positions, scores = index.top_k([" ".join(query)], k)
    expected = bm25_scores(documents, query, k1=1.5, b=0.75) if any(documents) else []
    matching = sum(score > 0 for score in expected)
    assert (positions[0] >= 0).sum() == min(k, matching)
    found = positions[0][: min(k, matching)]
    np.testing.assert_allclose(scores[0][: len(found)], sorted(expected)[::-1][: len(found)], 1e-5)
    np.testing.assert_allclose([expected[i] for i in found], scores[0][: len(found)], 1e-5)
    assert (positions[0][len(found) :] == -1).all()
    assert (scores[0][len(found) :] == 0).all()


def test_equals_bm25s() -> None:
    texts = [
        "The runner runs",
        "A cat sleeps in the sun",
        "running cats",
        "dogs and cats",
        "sun sun",
    ]
    stemmer = Stemmer.Stemmer("english")
    peer = bm25s.BM25(k1=1.2, b=0.5, method="lucene")
    peer.index(bm25s.tokenize(texts, stemmer=stemmer, show_progress=False), show_progress=False)
    queries = ["Do cats run?", "sun", "the sleeping cat"]
    words = bm25s.tokenize(queries, stemmer=stemmer, show_progress=False, return_ids=False)
    index = LexicalIndex.build(texts, LexicalConfig(k1=1.2, b=0.5))
    positions, scores = index.top_k(queries, 5)
    for row, query in enumerate(words):
        theirs = peer.get_scores(query)
        found = positions[row][positions[row] >= 0]
        np.testing.assert_allclose(scores[row][: len(found)], theirs[found], rtol=1e-6)
        missed = set(range(len(texts))) - set(found.tolist())
        assert all(theirs[i] <= theirs[found].min() for i in missed)


def test_ties_go_by_document_order_at_the_edge_too() -> None:
    index = LexicalIndex.build(["other", *["same words"] * 9], PLAIN)
    assert hits(index, "words", k=4) == [1, 2, 3, 4]
    assert hits(index, "words", k=20) == list(range(1, 10))


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), max_size=30), st.integers(1, 12))
def test_top_documents_is_a_stable_sort(scores: list[float], k: int) -> None:
    order = sorted((i for i, s in enumerate(scores) if s > 0), key=lambda i: -scores[i])
    assert top_documents(np.array(scores, np.float32), k).tolist() == order[:k]


@pytest.mark.parametrize("query", ["", "?!", "the of and", "unheard-of", "x"])
def test_query_without_known_words_has_no_hits(query: str) -> None:
    index = LexicalIndex.build(["the cat of the house", "and a dog"])
    assert hits(index, query) == []


def test_documents_without_words_are_no_hits() -> None:
    index = LexicalIndex.build(["", "the of", "cat", "!"])
    assert hits(index, "the cat") == [2]
    assert index.size == 4


@pytest.mark.parametrize("texts", [[], ["", "the"]])
def test_corpus_without_words(texts: list[str], tmp_path: Path) -> None:
    index = LexicalIndex.build(texts)
    assert hits(index, "cat") == []
    index.save(tmp_path)
    assert hits(LexicalIndex.load(tmp_path), "cat") == []


def test_no_queries() -> None:
    positions, scores = LexicalIndex.build(["cat"]).top_k([], 3)
    assert positions.shape == scores.shape == (0, 3)


def test_stemming_and_stop_words_are_options() -> None:
    texts = ["the cats", "a cat", "the dog"]
    assert hits(LexicalIndex.build(texts), "the cat") == [0, 1]
    assert hits(LexicalIndex.build(texts, LexicalConfig(stemmer="none")), "the cat") == [1]
    assert hits(LexicalIndex.build(texts, LexicalConfig(stop_words="none")), "the cat") == [0, 1, 2]


def test_other_languages() -> None:
    config = LexicalConfig(stemmer="german", stop_words="none")
    assert hits(LexicalIndex.build(["viele Häuser", "ein Hund"], config), "Haus häuser") == [0]


def test_repeated_query_words_count_twice() -> None:
    index = LexicalIndex.build(["cat dog", "dog bird", "fish"], PLAIN)
    assert hits(index, "cat bird bird") == [1, 0]


def test_saved_index_answers_the_same(tmp_path: Path) -> None:
    texts = ["Running dogs", "the café", "a 3rd dog", "runs"]
    queries = ["dog run", "CAFÉ", "3rd", "none"]
    index = LexicalIndex.build(texts, LexicalConfig(k1=0.9))
    index.save(tmp_path)
    loaded = LexicalIndex.load(tmp_path)
    assert loaded.config == index.config
    for ours, theirs in zip(index.top_k(queries, 3), loaded.top_k(queries, 3), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".npy"}


def test_texts_are_read_as_a_stream() -> None:
    alive = 0

    class Text(str):
        def __new__(cls) -> "Text":
            nonlocal alive
            alive += 1
            return super().__new__(cls, "some words")

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    most = 0

    def texts():
        nonlocal most
        for _ in range(50):
            yield Text()
            most = max(most, alive)

    assert LexicalIndex.build(texts()).size == 50
    assert most <= 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stemmer": "englisch"}, "no such stemmer; did you mean 'english'"),
        ({"k1": -1}, "k1 = -1"),
        ({"b": 1.5}, "b = 1.5"),
        ({"stop_words": "de"}, "stop_words = 'de'"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LexicalConfig.from_mapping(settings)
