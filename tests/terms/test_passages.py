"""Passages of long texts, and the vectors of documents that have several."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.records import Document
from tsgen.terms.passages import (
    BEGINNING,
    LEAST,
    MOST,
    OVERLAP,
    UNIT,
    WORDS,
    DocumentVectors,
    Span,
    passage_texts,
    passages,
)
from tsgen.terms.sentences import TextVectors, joined

TEXTS = st.lists(
    st.tuples(
        st.integers(0, 400),
        st.sampled_from([" ", "\n", "\n\n", "\n \n\n", "\n# ", "\n## A heading\n", ". "]),
    ),
    max_size=12,
).map(lambda parts: "".join(" ".join(f"w{i}" for i in range(n)) + end for n, end in parts))


def parts(text: str) -> list[str]:
    """The passages after the beginning."""
    return [text[start:end] for start, end in passages(text)[1:]]


READ = " ".join(["begin"] * WORDS) + " "  # what the window holds for certain


def words(count: int, first: int = 0) -> str:
    return " ".join(f"w{i}" for i in range(first, first + count))


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_every_word_is_in_a_passage_in_order_and_none_is_too_long(text: str) -> None:
    beginning, *spans = passages(text)
    assert beginning.start == 0
    assert not spans or spans[0].start <= beginning.end
    assert len(spans) < MOST
    assert spans == sorted(spans)
    covered = np.zeros(len(text), np.bool_)
    for start, end in spans:
        assert 0 < len(text[start:end].split()) <= WORDS
        covered[start:end] = True
    covered[: beginning.end] = True
    left = "".join(c for c, inside in zip(text, covered, strict=True) if not inside)
    assert not left.strip()


def test_a_text_without_paragraphs_is_cut_into_windows_that_overlap() -> None:
    found = [part.split() for part in parts(READ + words(1000))]
    assert all(len(part) == WORDS for part in found)
    assert found[0][0] == "w0"
    assert found[-1][-1] == "w999"
    for before, after in pairwise(found):
        assert len(set(before) & set(after)) >= OVERLAP


def test_paragraphs_stay_whole_and_fill_a_passage() -> None:
    paragraphs = [words(60, 100 * i) for i in range(5)]
    assert parts(READ + "\n\n".join(paragraphs)) == [
        "\n\n".join(paragraphs[0:2]),
        "\n\n".join(paragraphs[2:4]),
        paragraphs[4],
    ]


def test_headings_begin_passages_once_there_is_enough_before_them() -> None:
    long, short = words(LEAST, 100), words(5, 200)
    assert parts(f"{READ}\n# One\n{long}\n# Two\n{short}\n# Three\n{short}") == [
        f"# One\n{long}",
        f"# Two\n{short}\n# Three\n{short}",
    ]
    # A folder's Markdown is cleaned: its headings are lines by themselves.
    plain = f"{READ}{long}\n\nA heading\n\n{short}"
    assert parts(plain) == [long, f"A heading\n\n{short}"]


def test_a_text_without_spaces_is_cut_by_its_characters() -> None:
    text = "".join(chr(0x4E00 + i) for i in range(2 * WORDS))
    found = parts(READ + text)
    assert len(found) > 1
    assert all(len(part) == WORDS for part in found)


def test_the_number_of_passages_is_bounded() -> None:
    assert len(passages(words(100_000))) == MOST


def test_the_beginning_is_as_long_as_the_window_and_an_empty_text_has_no_more() -> None:
    assert passages("") == [Span(0, 0)]
    text = words(2 * BEGINNING)
    assert text[: passages(text)[0].end] == words(BEGINNING)


def test_passages_are_read_with_the_title() -> None:
    document = Document("d", READ + words(WORDS + 1), "A title")
    assert passage_texts(document) == [
        f"A title {words(WORDS)}",
        f"A title {words(WORDS, 1)}",
    ]
    assert passage_texts(Document("d", f"{READ} some words")) == ["some words"]
    assert passage_texts(Document("d", READ)) == []


# The vectors of documents that have several.

COUNTS = st.lists(st.integers(0, 3), min_size=1, max_size=8)


def made(counts: list[int], seed: int = 0) -> DocumentVectors:
    """Random vectors; each document has that many passages after its first, and each text up to
    two sentences."""
    rng = np.random.default_rng(seed)

    def texts(count: int) -> TextVectors:
        own = [rng.normal(size=(rng.integers(3), 4)) / 8 for _ in range(count)]
        return joined((rng.normal(size=(count, 4)) / 8).astype(np.float32), own)

    return DocumentVectors.joined(
        texts(len(counts)), np.array(counts, np.int64), texts(sum(counts))
    )


def test_passages_come_before_the_sentences_of_each_document() -> None:
    def column(*values: float) -> np.ndarray:
        return np.array(values, np.float32)[:, None] / UNIT

    vectors = DocumentVectors.joined(
        joined(column(10, 20, 30), [column(), column(23, 24), column(33)]),
        np.array([0, 2, 0]),
        joined(column(21, 22), [column(25), column()]),
    )
    assert vectors.offsets.tolist() == [0, 1, 7, 9]
    assert vectors.passages.tolist() == [1, 3, 1]
    assert vectors.values.ravel().tolist() == [10, 20, 21, 22, 23, 24, 25, 30, 33]


@given(COUNTS, st.integers(0, 99), st.sampled_from([0.0, 0.3, 1.0]))
def test_similarity_is_that_of_a_loop_over_documents(
    counts: list[int], seed: int, share: float
) -> None:
    vectors, rng = made(counts, seed), np.random.default_rng(seed)
    products = rng.normal(size=(3, 4)).astype(np.float32) @ vectors.as_floats().T
    found = vectors.similarity(products, share)
    for query, row in enumerate(products):
        for document, (start, end) in enumerate(pairs(vectors)):
            between = start + vectors.passages[document]
            passage = max(row[start:between])
            sentence = max(row[between:end], default=passage)
            wanted = (1 - share) * passage + share * sentence
            assert found[query, document] == pytest.approx(wanted, abs=1e-5)
            best = vectors.best_passage(row, document)
            assert (best is None) == (counts[document] == 0)
            assert row[start + (best or 0)] == passage


@given(COUNTS)
def test_the_mean_is_that_of_the_passages_with_length_1(counts: list[int]) -> None:
    vectors = made(counts)
    for document, mean in enumerate(vectors.means()):
        own = vectors.row(document)[: vectors.passages[document]].astype(np.float32).mean(axis=0)
        np.testing.assert_allclose(mean, own / np.linalg.norm(own), atol=1e-5)


@given(COUNTS, COUNTS, st.data())
def test_some_documents_and_others_after_them(
    counts: list[int], more: list[int], data: st.DataObject
) -> None:
    vectors, others = made(counts), made(more, seed=1)
    chosen = data.draw(st.lists(st.integers(0, len(counts) - 1), unique=True).map(sorted))
    found = vectors.take(np.array(chosen, np.int64)).followed_by([others])
    rows = [(vectors, document) for document in chosen]
    rows += [(others, document) for document in range(len(others))]
    assert len(found) == len(rows)
    for document, (source, number) in enumerate(rows):
        np.testing.assert_array_equal(found.row(document), source.row(number))
        assert found.passages[document] == source.passages[number]
        packed = vectors.unpack(source.pack(number))
        np.testing.assert_array_equal(packed.values, source.row(number))
        assert packed.passages.tolist() == [source.passages[number]]


def pairs(vectors: DocumentVectors) -> list[tuple[int, int]]:
    return list(pairwise(vectors.offsets.tolist()))
