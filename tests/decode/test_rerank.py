"""Documents in the order of what their weights say, by hand."""

import numpy as np
import pytest

from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.hypotheses import Found
from tsgen.decode.ranking import FLATTENING, rerank
from tsgen.docids.spelling import words
from tsgen.docids.term_set import TermSets
from tsgen.records import TermSet
from tsgen.settings import DecodeConfig

SETS = TermSets.of(
    [
        TermSet("cinnamon", ("bark", "vietnam"), (3.0, 1.0)),
        TermSet("vietnam", ("vietnam", "asia"), (3.0, 1.0)),
    ]
)
P = {"asia": 0.1, "bark": 0.1, "vietnam": 0.8}
LOG_P = np.log(np.array([P[term] for term in SETS.vocabulary], np.float32))
FOUND = [Found(0, -1.0, (), (), ()), Found(1, -1.0, (), (), ())]


def constraint(sets: TermSets) -> PostingsConstraint:
    return PostingsConstraint(sets, words(len(sets.vocabulary)))


def test_the_heavier_term_decides() -> None:
    first, second = rerank(FOUND, LOG_P, constraint(SETS), DecodeConfig(prior_weight=2.0))
    assert (first.document, second.document) == (1, 0)
    u = 1 / FLATTENING
    assert first.score == pytest.approx(-1 + 2 * np.log(0.75 * 0.8**u + 0.25 * 0.1**u))
    assert second.score == pytest.approx(-1 + 2 * np.log(0.75 * 0.1**u + 0.25 * 0.8**u))


def test_without_weights_all_terms_are_equal() -> None:
    bare = TermSets.of(TermSet(str(i), SETS.term_set(i).terms, (0.0, 0.0)) for i in range(2))
    first, second = rerank(FOUND, LOG_P, constraint(bare), DecodeConfig(prior_weight=1.0))
    assert (first.document, second.document) == (0, 1)
    assert first.score == pytest.approx(second.score)


def test_a_better_path_still_counts() -> None:
    better = [Found(0, 0.0, (), (), ()), Found(1, -9.0, (), (), ())]
    assert [
        one.document
        for one in rerank(better, LOG_P, constraint(SETS), DecodeConfig(prior_weight=2.0))
    ] == [0, 1]
