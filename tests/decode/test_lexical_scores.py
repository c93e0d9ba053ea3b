"""The query's own words among the documents' terms."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.toy_backbone import FixedBackbone
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.hypotheses import Found
from tsgen.decode.ranking import FLATTENING, lexical_scores, rerank
from tsgen.decode.search import search, search_by_prior
from tsgen.docids.spelling import words
from tsgen.docids.term_set import AddedTermSet, Merger, TermSets
from tsgen.records import TermSet
from tsgen.settings import DecodeConfig

WORDS = ["bake", "bread", "dark", "egg", "rye", "white"]
SETS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True), min_size=1, max_size=8
)
QUERY = st.lists(st.sampled_from([*WORDS, "baking", "the", "toast"]), max_size=5).map(" ".join)
LIKELY = [-1.0, -1.0, -1.0, -9.0, -9.0, -9.0, -9.0]  # bake, bread and dark


def term_sets(sets: list[list[str]]) -> TermSets:
    """Each document's terms weigh 1, ½, ¼ …"""
    return TermSets.of(
        TermSet(str(i), tuple(terms), tuple(0.5**j for j in range(len(terms))))
        for i, terms in enumerate(sets)
    )


def constraint(sets: TermSets) -> PostingsConstraint:
    return PostingsConstraint(sets, words(len(sets.vocabulary)))


@settings(deadline=None)
@given(SETS, st.lists(QUERY, min_size=1, max_size=3))
def test_it_is_the_sum_over_common_words(sets: list[list[str]], queries: list[str]) -> None:
    found = lexical_scores(constraint(term_sets(sets)), queries)
    for row, query in zip(found, queries, strict=True):
        in_query = {"bake" if word == "baking" else word for word in query.split()}
        for value, terms in zip(row.tolist(), sets, strict=True):
            mean, by_hand = sum(0.5**j for j in range(len(terms))) / len(terms), 0.0
            for place, term in enumerate(terms):
                having = sum(term in other for other in sets)
                idf = log(1 + (len(sets) - having + 0.5) / (having + 0.5))
                by_hand += (term in in_query) * idf * (0.5**place / mean) ** (1 / FLATTENING)
            assert value == pytest.approx(by_hand, rel=1e-5)


def test_it_is_added_to_the_score() -> None:
    sets = constraint(term_sets([["bread"], ["rye"]]))
    found = [Found(0, -1.0, (), (), ()), Found(1, -2.0, (), (), ())]
    added = np.array([0.5, 3.0], np.float32)
    ordered = rerank(found, np.zeros(2, np.float32), sets, DecodeConfig(), added)
    assert [(one.document, one.score) for one in ordered] == [(1, 1.0), (0, -0.5)]


def test_a_search_puts_what_has_the_querys_words_first() -> None:
    sets = constraint(term_sets([["bake", "bread"], ["egg", "white"], ["bread", "dark"], ["rye"]]))
    backbone = FixedBackbone(LIKELY)
    config = DecodeConfig(beam=8, normalise="valid", merge="sum")
    (plain,) = search(backbone, sets, ["egg whites"], 4, config)
    assert [hit.document for hit in plain[:2]] == [0, 2]
    weighted = config.model_copy(update={"lexical_weight": 9.0})
    (found,) = search(backbone, sets, ["egg whites"], 4, weighted)
    assert [hit.document for hit in found] == [1, *(d.document for d in plain if d.document != 1)]
    (again,) = search(backbone, sets, ["what is it"], 4, weighted)
    assert again == plain  # no word of the query is a term


def test_the_prior_knows_them_too() -> None:
    sets = constraint(term_sets([["bake", "bread"], ["egg", "white"], ["bread", "dark"]]))
    backbone, how = FixedBackbone(LIKELY[:-1]), {"prior": "weighted", "prior_weight": 2.0}
    config = DecodeConfig(beam=1, normalise="valid", merge="sum", fill=1, lexical_weight=9.0, **how)
    (best,) = search_by_prior(backbone, sets, ["egg"], 3, config)
    (bare,) = search_by_prior(backbone, sets, ["egg"], 3, DecodeConfig(**how))
    assert (best[0].document, bare[0].document) == (1, 0)
    scores = {hit.document: hit.score for hit in bare}
    lexical = lexical_scores(sets, ["egg"])[0]
    assert best[0].score == pytest.approx(scores[1] + 9 / 2 * lexical[1], rel=1e-5)
    (found,) = search(backbone, sets, ["egg"], 3, config)
    assert found[0].document == 1, "the beam lost it"


def test_terms_of_documents_that_came_later() -> None:
    merger = Merger(term_sets([["bread", "rye"], ["egg"]]))
    row = AddedTermSet("new", merger.numbers(["toast", "egg"]), np.ones(2, np.float32))
    merged = merger.merge(np.array([0, 1]), [row]).sets
    assert [merged.term(t) for t in merged.query_terms("toasted eggs").tolist()] == ["toast", "egg"]
    without = merger.merge(np.array([1]), []).sets
    assert [without.term(t) for t in without.query_terms("rye toast with egg").tolist()] == ["egg"]
