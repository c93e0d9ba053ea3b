"""The beam search against Algorithm 1 as the paper prints it, for both spellings.

Stated rules where a narrow beam differs from the printed text, each checked here:

1. With one token a term, all sets of one size and `merge = "none"` the two agree for every beam.
2. A beam as wide as the space gives equal documents, scores and orders with any spelling and sizes.
3. With several tokens a term at most B partial spellings go on, so that a narrow beam may lose a
   term whose first token is unlikely: what is found is scored as Algorithm 1 scores that order.
4. Where sets have different sizes, a hypothesis that no document goes on from leaves its place in a
   narrow beam to the next best (`tests/decode/test_beam.py`).
"""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from oracle.algorithm1 import best_first, favourable_permutations, permutation_invariant_decoding
from oracle.decoding import Corpus, order_log_prob, subword_corpus, term_log_prob, word_corpus
from oracle.toy_backbone import ToyBackbone
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.favourite import best_permutations
from tsgen.decode.hypotheses import Found
from tsgen.decode.search import search
from tsgen.settings import DecodeConfig, FavouriteConfig

WIDE = 3000  # more hypotheses than 6 documents of 4 terms have
SPELLED = [(0,), (1, 2), (1, 3, 0), (2,), (3, 3), (0, 1)]
PRINTED = {"merge": "none", "normalise": "full"}
many = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
some = settings(many, max_examples=25)


def term_sets(smallest: int, largest: int) -> st.SearchStrategy[list[list[int]]]:
    one = st.lists(st.integers(0, 5), min_size=smallest, max_size=largest, unique=True)
    return st.lists(one, min_size=1, max_size=6, unique_by=frozenset)


def spelled(sets: list[list[int]], by_pieces: bool) -> Corpus:
    return subword_corpus(sets, SPELLED) if by_pieces else word_corpus(sets)


def log_prob(corpus: Corpus, backbone: ToyBackbone, query: str, temperature: float = 1.0):
    @cache
    def of(so_far: tuple[int, ...], term: int) -> float:
        how = {"normalise": "full", "temperature": temperature}
        return term_log_prob(corpus, backbone, query, so_far, term, **how)

    return of


def both(corpus: Corpus, query: str, beam: int) -> tuple[list[Found], dict]:
    backbone = ToyBackbone(corpus.outputs)
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    found = search(backbone, constraint, [query], 100, DecodeConfig(beam=beam, **PRINTED))[0]
    printed = permutation_invariant_decoding(corpus.sets, log_prob(corpus, backbone, query), beam)
    return found, printed


def check_equal(found: list[Found], printed: dict) -> None:
    assert [hit.document for hit in found] == best_first(printed)
    for hit in found:
        score, order = printed[hit.document]
        assert hit.score == pytest.approx(score, abs=1e-4)
        assert hit.units == order


def check_untied(printed: dict) -> None:
    """Scores within rounding of each other may come in either order."""
    scores = sorted(score for score, _ in printed.values())
    assume(all(b - a > 1e-3 for a, b in pairwise(scores)))


@many
@given(term_sets(3, 3), st.sampled_from("abc"), st.integers(1, 12))
def test_any_beam_over_words(sets: list[list[int]], query: str, beam: int) -> None:
    found, printed = both(word_corpus(sets), query, beam)
    check_untied(printed)
    check_equal(found, printed)


@many
@given(term_sets(1, 4), st.booleans(), st.sampled_from("abc"))
def test_a_beam_as_wide_as_the_space(sets: list[list[int]], by_pieces: bool, query: str) -> None:
    found, printed = both(spelled(sets, by_pieces), query, WIDE)
    check_untied(printed)
    assert set(printed) == set(range(len(sets)))
    check_equal(found, printed)


@many
@given(term_sets(1, 4), st.sampled_from("abc"), st.integers(1, 4))
def test_a_narrow_beam_over_pieces_scores_orders_as_it_does(
    sets: list[list[int]], query: str, beam: int
) -> None:
    corpus = spelled(sets, by_pieces=True)
    found, printed = both(corpus, query, beam)
    backbone = ToyBackbone(corpus.outputs)
    best = permutation_invariant_decoding(sets, log_prob(corpus, backbone, query), WIDE)
    assert found
    assert printed
    for hit in found:
        own = order_log_prob(corpus, backbone, query, hit.units)
        assert hit.score == pytest.approx(own, abs=1e-4)
        assert hit.score <= best[hit.document][0] + 1e-4


@some
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True),
    st.booleans(),
    st.sampled_from("abc"),
    st.integers(1, 6),
)
def test_the_permutations_of_section_3_3(
    terms: list[int], by_pieces: bool, query: str, beam: int
) -> None:
    corpus = spelled([terms, [0, 1, 2, 3, 4, 5]], by_pieces)
    backbone = ToyBackbone(corpus.outputs)
    at_3 = log_prob(corpus, backbone, query, temperature=3.0)
    width = beam if not by_pieces else WIDE  # rule 3
    printed = favourable_permutations(terms, at_3, width)
    scores = np.array([score for score, _ in printed[: 2 * beam]])
    assume(np.all(np.abs(np.diff(scores)) > 1e-3))
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    config = FavouriteConfig(beam=width, merge="none", temperature=3.0, normalise="full")
    (found,) = best_permutations(backbone, constraint, [(query, 0)], beam, config)
    assert [one.terms for one in found] == [order for _, order in printed[:beam]]
