"""Documents that the beam lost and the set prior kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.decoding import ragged, word_corpus
from oracle.toy_backbone import FixedBackbone, ToyBackbone
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.hypotheses import Found
from tsgen.decode.ranking import fill, term_log_probs
from tsgen.decode.search import search, search_by_prior
from tsgen.errors import ConfigError
from tsgen.settings import DecodeConfig

NARROW = {"beam": 1, "normalise": "docid", "prior": "sum"}
TERM_SETS = st.lists(
    st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True), min_size=1, max_size=8
)


def test_what_was_not_found_follows_in_the_priors_order() -> None:
    found = [Found(4, -1.0, (0,), (-1.0,), (1,)), Found(2, -3.0, (1,), (-3.0,), (1,))]
    priors = np.array([9.0, 8.0, 6.0], np.float32)
    filled = fill(found, np.array([7, 4, 1], np.int32), priors)
    assert filled[:2] == found
    assert [(one.document, one.score) for one in filled[2:]] == [(7, -3.0), (1, -6.0)]


def test_nothing_found_and_nothing_lost() -> None:
    priors = np.array([-2.0, -5.0], np.float32)
    documents = np.array([3, 0], np.int32)
    assert [(one.document, one.score) for one in fill([], documents, priors)] == [(3, 0), (0, -3)]
    found = fill([], documents, priors)
    assert fill(found, documents, priors) == found


@settings(deadline=None, max_examples=40)
@given(TERM_SETS, st.integers(1, 9))
def test_a_search_ends_in_all_that_the_prior_ranks_best(sets: list[list[int]], many: int) -> None:
    corpus = word_corpus(sets)
    backbone = ToyBackbone(corpus.outputs)
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    plain = search(backbone, constraint, ["q", "r"], 9, DecodeConfig(**NARROW))
    filled = search(backbone, constraint, ["q", "r"], 9, DecodeConfig(**NARROW, fill=many))
    best = search_by_prior(backbone, constraint, ["q", "r"], many, DecodeConfig(prior="sum"))
    for before, after, prior in zip(plain, filled, best, strict=True):
        known = {hit.document for hit in before}
        lost = [hit.document for hit in prior if hit.document not in known]
        assert after[: len(before)] == before
        assert [hit.document for hit in after[len(before) :]] == lost[: 9 - len(before)]


@settings(deadline=None, max_examples=40)
@given(TERM_SETS)
def test_the_reason_is_its_likeliest_terms_and_who_has_them(sets: list[list[int]]) -> None:
    corpus = word_corpus(sets)
    backbone = ToyBackbone(corpus.outputs)
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    log_probs = term_log_probs(backbone, constraint, backbone.encode(["q"])[2])[0]
    (plain,) = search(backbone, constraint, ["q"], 9, DecodeConfig(**NARROW))
    (filled,) = search(backbone, constraint, ["q"], 9, DecodeConfig(**NARROW, fill=9))
    for hit in filled[len(plain) :]:
        terms = list(hit.units)
        assert sorted(terms) == sorted(sets[hit.document])
        assert terms == sorted(terms, key=lambda term: -log_probs[term])
        left = [sum(set(terms[:n]) <= set(one) for one in sets) for n in range(1, len(terms) + 1)]
        assert list(hit.valid_documents) == left


def test_a_lost_document_that_means_more_comes_first() -> None:
    # The beam goes for term 0 and ends in its documents; document 2 has the likely terms 1 and 2.
    corpus = word_corpus([(0, 3), (0, 4), (1, 2), (1, 5)])
    backbone = FixedBackbone([-1.0, -1.1, -1.2, -9.0, -9.0, -9.0, -9.0])
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    config = DecodeConfig(
        beam=1, normalise="valid", merge="sum", prior="weighted", prior_weight=50.0
    )
    (plain,) = search(backbone, constraint, ["q"], 4, config)
    (filled,) = search(backbone, constraint, ["q"], 4, config.model_copy(update={"fill": 4}))
    assert [hit.document for hit in plain] == [0, 1]
    assert [hit.document for hit in filled] == [2, 0, 1, 3]


def test_only_documents_of_a_given_pool_are_added() -> None:
    corpus = word_corpus([(0, 3), (1, 2), (2, 3), (0, 1)])
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    config = DecodeConfig(**NARROW, fill=9)
    pool = ragged([[1, 3]])
    for hits in search(ToyBackbone(corpus.outputs), constraint, ["q", "r"], 9, config, pool):
        assert sorted(hit.document for hit in hits) == [1, 3]


def test_a_sequence_is_not_filled_by_the_set() -> None:
    corpus = word_corpus([(0, 3), (1, 2)])
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    with pytest.raises(ConfigError, match="`fill`"):
        search(
            ToyBackbone(corpus.outputs), constraint, ["q"], 2, DecodeConfig(in_order=True, fill=1)
        )
