"""The favourite permutation of a known set."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.decoding import Corpus, brute_force, order_log_prob, subword_corpus, word_corpus
from oracle.toy_backbone import ToyBackbone
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.favourite import beginnings, best_permutations, favourite_permutations
from tsgen.settings import FavouriteConfig

WORDS = word_corpus([(3, 1, 0, 2), (2, 0, 1), (1,), (0, 4, 3)])
PIECES = subword_corpus([(2, 1, 0, 3), (1, 0), (3, 2, 4)], [(0,), (0, 1), (2, 3), (1, 1, 1), (3,)])
corpora = pytest.mark.parametrize("corpus", [WORDS, PIECES], ids=["words", "pieces"])


def pairs(corpus: Corpus) -> list[tuple[str, int]]:
    return [(query, d) for query in "abcde" for d in reversed(range(len(corpus.sets)))]


def favourites(corpus: Corpus, **settings):
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    backbone = ToyBackbone(corpus.outputs)
    config = FavouriteConfig(**settings)
    return backbone, favourite_permutations(backbone, constraint, pairs(corpus), config)


@corpora
@pytest.mark.parametrize("temperature", [1.0, 3.0])
@pytest.mark.parametrize("normalise", ["full", "docid"])
def test_a_wide_beam_finds_the_likeliest_order(
    corpus: Corpus, temperature: float, normalise: str
) -> None:
    settings = {"temperature": temperature, "normalise": normalise}
    backbone, found = favourites(corpus, beam=50, batch=4, merge="none", **settings)
    for (query, document), favourite in zip(pairs(corpus), found, strict=True):
        orders = brute_force(corpus, backbone, query, **settings)[document]
        best = orders[0][1]
        assert favourite.terms == best
        at_1 = order_log_prob(corpus, backbone, query, best, normalise=normalise)
        assert favourite.log_prob == pytest.approx(at_1, abs=1e-4)


def test_the_first_beam_is_the_target_where_the_weight_order_is_likelier() -> None:
    backbone = ToyBackbone(WORDS.outputs)
    orders = {
        query: brute_force(WORDS, backbone, query, temperature=3.0)[0] for query in "abcdefgh"
    }
    for query, found in orders.items():  # an order by weight that is likelier at temperature 1 only
        best = max(found, key=lambda one: order_log_prob(WORDS, backbone, query, one[1]))[1]
        if best != found[0][1]:
            break
    sets = PostingsConstraint(word_corpus([best, *WORDS.sets[1:]]).arrays, WORDS.spelling)
    config = FavouriteConfig(beam=50, merge="none", temperature=3.0)
    guarded = config.model_copy(update={"or_weight_order": True})
    (paper,) = favourite_permutations(backbone, sets, [(query, 0)], config)
    (option,) = favourite_permutations(backbone, sets, [(query, 0)], guarded)
    assert paper.terms == orders[query][0][1] != best
    assert option.terms == best
    assert option.log_prob > paper.log_prob


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("normalise", ["full", "docid"])
def test_only_the_first_terms_are_searched(first: int, normalise: str) -> None:
    settings = {"temperature": 3.0, "normalise": normalise}
    backbone, found = favourites(WORDS, beam=50, batch=4, first=first, **settings)
    for (query, document), favourite in zip(pairs(WORDS), found, strict=True):
        by_weight = WORDS.sets[document]

        def log_prob(order: tuple[int, ...], asked: str = query, **changes: object) -> float:
            return order_log_prob(WORDS, backbone, asked, order, **settings | changes)

        searched = max(permutations(by_weight, min(first, len(by_weight))), key=log_prob)
        assert favourite.terms == (*searched, *(t for t in by_weight if t not in searched))
        at_1 = log_prob(searched, temperature=1.0)
        assert favourite.log_prob == pytest.approx(at_1, abs=1e-4)


def test_beginnings_are_distinct_sets_likeliest_first() -> None:
    constraint, backbone = (
        PostingsConstraint(WORDS.arrays, WORDS.spelling),
        ToyBackbone(WORDS.outputs),
    )
    (found,) = beginnings(backbone, constraint, ["a"], [0], 2, 4, 1.0, None)
    assert len({frozenset(order) for order in found}) == len(found) == 4
    scores = [order_log_prob(WORDS, backbone, "a", order) for order in found]
    assert scores == sorted(scores, reverse=True)
    (all_of_it,) = beginnings(backbone, constraint, ["a"], [2], 3, 4, 1.0, None)
    assert all_of_it == [(1,)]  # it has no more


@corpora
@pytest.mark.parametrize("beam", [1, 2])
def test_an_option_is_never_worse_than_the_weight_order(corpus: Corpus, beam: int) -> None:
    backbone, found = favourites(corpus, beam=beam, or_weight_order=True)
    kept = 0
    for (query, document), favourite in zip(pairs(corpus), found, strict=True):
        by_weight = order_log_prob(corpus, backbone, query, corpus.sets[document])
        assert sorted(favourite.terms) == sorted(corpus.sets[document])
        assert favourite.log_prob >= by_weight - 1e-4
        kept += favourite.terms == corpus.sets[document]
    assert kept < len(found)


def test_batches_do_not_matter() -> None:
    _, one = favourites(PIECES, batch=1)
    _, all_together = favourites(PIECES, batch=100)
    assert [f.terms for f in one] == [f.terms for f in all_together]
    np.testing.assert_allclose([f.log_prob for f in one], [f.log_prob for f in all_together])


@corpora
def test_the_best_three(corpus: Corpus) -> None:
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    backbone = ToyBackbone(corpus.outputs)
    config = FavouriteConfig(beam=50, temperature=1.0, normalise="docid")
    found = best_permutations(backbone, constraint, pairs(corpus), 3, config)
    for (query, document), favourites in zip(pairs(corpus), found, strict=True):
        likelihood = {
            order: order_log_prob(corpus, backbone, query, order, normalise="docid")
            for order in permutations(corpus.sets[document])
        }
        best = sorted(likelihood, key=lambda order: -likelihood[order])[:3]
        assert [favourite.terms for favourite in favourites] == best


terms = st.lists(st.integers(0, 6), min_size=1, max_size=5, unique=True).map(tuple)


@given(
    sets=st.lists(terms, min_size=1, max_size=6, unique_by=frozenset),
    query=st.text("abc", min_size=1, max_size=4),
    beam=st.integers(1, 4),
    merge=st.sampled_from(["max", "none"]),
)
@settings(deadline=None)
def test_at_least_the_weight_order_in_any_corpus(
    sets: list[tuple[int, ...]], query: str, beam: int, merge: str
) -> None:
    corpus = word_corpus(sets)
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    backbone = ToyBackbone(corpus.outputs)
    asked = [(query, document) for document in range(len(sets))]
    found = favourite_permutations(
        backbone, constraint, asked, FavouriteConfig(beam=beam, merge=merge, or_weight_order=True)
    )
    for by_weight, favourite in zip(corpus.sets, found, strict=True):
        assert favourite.log_prob >= order_log_prob(corpus, backbone, query, by_weight) - 1e-4
