"""The states of term sets against plain Python sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.decoding import TERMINATOR, Corpus, ragged, subword_corpus, valid_terms, word_corpus
from tsgen.constrain import term_sets
from tsgen.constrain.constraint import Cursor
from tsgen.constrain.term_sets import PostingsConstraint, SetFrontier
from tsgen.docids.spelling import words
from tsgen.errors import ConfigError

SETS = [(0, 1, 2), (0, 1), (2, 3), (3,), (3,)]

corpora = st.lists(
    st.lists(st.integers(0, 80), min_size=1, max_size=6, unique=True), min_size=1, max_size=30
).map(word_corpus)


def chosen(constraint: PostingsConstraint, frontier: SetFrontier, terms: list[int]) -> Cursor:
    """Row i continued by the one token of terms[i]."""
    cursor = constraint.cursor(frontier, np.arange(len(terms)))
    allowed = constraint.allowed(frontier, cursor)
    slices = zip(allowed.starts, allowed.ends, terms, strict=True)
    entries = [a + allowed.tokens[a:b].tolist().index(term) for a, b, term in slices]
    return allowed.follow(cursor, np.arange(len(terms)), np.array(entries))


def next_terms(constraint: PostingsConstraint, frontier: SetFrontier, row: int) -> set[int]:
    """What a row may continue with, after asking about what is not sure."""
    cursor = constraint.cursor(frontier, np.array([row]))
    allowed = constraint.allowed(frontier, cursor)
    entries = np.arange(allowed.starts[0], allowed.ends[0])
    after = allowed.follow(cursor, np.zeros_like(entries), entries)
    leads = (
        np.ones(len(after), dtype=bool) if allowed.sure[0] else constraint.leads(frontier, after)
    )
    return set(allowed.tokens[entries[leads]].tolist())


@settings(max_examples=150, deadline=None)
@given(corpora, st.data(), st.sampled_from([None, 1, 2]), st.sampled_from([None, 0, 3]))
def test_states_equal_plain_sets(
    corpus: Corpus, data: st.DataObject, heavy: int | None, list_up_to: int | None
) -> None:
    pool = data.draw(st.none() | st.sets(st.integers(0, len(corpus.sets) - 1), min_size=1))
    documents = range(len(corpus.sets)) if pool is None else sorted(pool)
    constraint = PostingsConstraint(
        corpus.arrays, corpus.spelling, heavy=heavy, list_up_to=list_up_to
    )
    exact = data.draw(st.booleans())
    frontier = constraint.start(2, None if pool is None else ragged([documents] * 2), exact)
    order: tuple[int, ...] = ()
    while options := valid_terms(corpus, order, documents):
        assert next_terms(constraint, frontier, 1) == options
        order = (*order, data.draw(st.sampled_from(sorted(options))))
        cursor = chosen(constraint, frontier, [order[-1]] * 2)
        assert constraint.units(frontier, cursor).tolist() == [order[-1]] * 2
        keys = constraint.keys(frontier, cursor)
        assert np.array_equal(keys[0], keys[1])
        frontier = constraint.close(frontier, cursor)
        holders = [d for d in documents if set(order) <= set(corpus.sets[d])]
        assert constraint.valid(frontier).tolist() == [len(holders)] * 2
        complete = [d for d in holders if len(corpus.sets[d]) == len(order)]
        completed = constraint.completed(frontier)
        assert completed.row(0).tolist() == completed.row(1).tolist() == complete


@settings(max_examples=100, deadline=None)
@given(corpora, st.lists(st.lists(st.integers(0, 80), min_size=1, max_size=4), max_size=4))
def test_what_follows_heavy_terms_is_remembered_as_it_was(
    corpus: Corpus, asked: list[list[int]]
) -> None:
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling, heavy=1)
    every = range(len(corpus.sets))
    used = sorted(valid_terms(corpus, (), every))
    for numbers in asked:  # one query after the other, some terms again
        terms = [used[number % len(used)] for number in numbers]
        start = constraint.start(len(terms), None, exact=True)
        frontier = constraint.close(start, chosen(constraint, start, terms))
        for row, term in enumerate(terms):
            assert next_terms(constraint, frontier, row) == valid_terms(corpus, (term,), every)


def test_what_is_remembered_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_sets, "MOST", 3)
    lists = term_sets.HeavyTermLists(9)
    lists.add(np.array([4, 7]), ragged([[1, 2], [8]]))
    lists.add(np.array([5]), ragged([[3]]))
    assert lists.has(np.array([4, 5, 7])).tolist() == [True, False, True]
    found = lists.take(np.array([7, 4, 7]))
    assert [found.row(row).tolist() for row in range(3)] == [[8], [1, 2], [8]]


def test_a_set_reached_in_two_orders_is_one_state() -> None:
    corpus = word_corpus(SETS)
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    first = constraint.start(3)
    second = constraint.close(first, chosen(constraint, first, [0, 1, 2]))
    cursor = chosen(constraint, second, [1, 0, 3])
    keys = constraint.keys(second, cursor)
    assert np.array_equal(keys[0], keys[1])
    assert not np.array_equal(keys[0], keys[2])
    third = constraint.close(second, cursor)
    assert third.set_of.tolist() == [0, 0, 1]
    assert constraint.valid(third).tolist() == [2, 2, 1]
    assert [constraint.completed(third).row(r).tolist() for r in range(3)] == [[1], [1], [2]]


def test_tokens_of_longer_spellings() -> None:
    corpus = subword_corpus([(0, 1, 2)], [(0,), (0, 1), (2, 3)])
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    frontier = constraint.start(1)
    cursor = constraint.cursor(frontier, np.array([0]))
    first = constraint.allowed(frontier, cursor)
    assert first.tokens.tolist() == [0, 2]
    assert first.closes.tolist() == [False, False]
    cursor = first.follow(cursor, np.array([0]), np.array([0]))
    second = constraint.allowed(frontier, cursor)
    assert second.tokens.tolist() == [1, TERMINATOR]  # "0 1 ," and "0 ,"
    assert second.closes.tolist() == [False, True]
    closed = second.follow(cursor, np.array([0]), np.array([1]))
    assert constraint.units(frontier, closed).tolist() == [0]


def test_what_the_search_asks_about_the_corpus() -> None:
    corpus = subword_corpus(SETS, [(0,), (0, 1), (2,), (3,)])
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    assert constraint.alphabet.tolist() == [0, 1, 2, 3, TERMINATOR]
    assert constraint.longest == 3
    assert [constraint.ends(n) for n in range(5)] == [False, True, True, True, False]
    assert constraint.term_sets.row(2).tolist() == [2, 3]


def test_a_spelling_of_other_terms_is_refused() -> None:
    with pytest.raises(ConfigError, match="4 terms in the sets but 7"):
        PostingsConstraint(word_corpus(SETS).arrays, words(7))


@pytest.mark.parametrize("documents", [1, 3])
def test_one_document_left_needs_no_postings(documents: int) -> None:
    corpus = word_corpus([(0, 1, 2)] * documents)
    arrays = corpus.arrays
    constraint = PostingsConstraint(arrays, corpus.spelling)
    frontier = constraint.close(start := constraint.start(1), chosen(constraint, start, [0]))
    arrays.post_docs[arrays.post_offsets[1] :] = 99  # what must not be looked at any more
    after = constraint.close(frontier, chosen(constraint, frontier, [1]))
    assert constraint.valid(after).tolist() == [1 if documents == 1 else 0]


def test_the_only_document_of_a_collection_is_decided_from_the_start() -> None:
    corpus = word_corpus([[0, 1, 2]])
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    for _ in range(50):  # it was read from whatever memory there was
        frontier = constraint.start(2)
        assert constraint.decided(frontier, np.array([0, 1])).tolist() == [0, 0]
