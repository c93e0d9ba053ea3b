"""The loss that orders documents, by hand."""

import numpy as np
import pytest
import torch

from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.ranking import FLATTENING
from tsgen.docids.spelling import words
from tsgen.docids.term_set import TermSets
from tsgen.records import TermSet
from tsgen.train.objective import RankingLoss

SETS = TermSets.of(
    [
        TermSet("cinnamon", ("bark", "vietnam"), (3.0, 1.0)),
        TermSet("vietnam", ("vietnam", "asia"), (3.0, 1.0)),
        TermSet("bare", ("asia", "bark"), (0.0, 0.0)),
    ]
)
P = {"asia": 0.1, "bark": 0.1, "vietnam": 0.8}
SCORES = torch.tensor([[P[term] for term in SETS.vocabulary]]).log() + 3.0  # any constant will do
COLUMNS = np.arange(3)


def ranking(weight: float) -> RankingLoss:
    return RankingLoss(PostingsConstraint(SETS, words(3)), weight)


def test_the_share_of_the_right_document_among_all() -> None:
    u = 1 / FLATTENING
    weighted = [0.75 * 0.1**u + 0.25 * 0.8**u, 0.75 * 0.8**u + 0.25 * 0.1**u, 0.1**u]
    for right in range(3):
        others = np.array([d for d in range(3) if d != right] * 2)  # drawn twice, counted once
        loss = ranking(2.0)(SCORES, COLUMNS, np.array([[right]]), others)
        share = weighted[right] ** 2 / sum(m**2 for m in weighted)
        assert float(loss) == pytest.approx(-np.log(share), abs=1e-5)


def test_the_batchs_own_documents_compete() -> None:
    both = ranking(2.0)(SCORES.repeat(2, 1), COLUMNS, np.array([[0], [1]]), np.array([1]))
    one, other = (
        ranking(2.0)(SCORES, COLUMNS, np.array([[d]]), np.array([1 - d])) for d in range(2)
    )
    assert float(both) == pytest.approx(float(one + other) / 2, abs=1e-6)


def test_columns_are_those_of_the_scores() -> None:
    swapped = ranking(1.0)(SCORES.flip(1), COLUMNS[::-1].copy(), np.array([[0]]), np.array([1]))
    assert float(swapped) == pytest.approx(
        float(ranking(1.0)(SCORES, COLUMNS, np.array([[0]]), np.array([1])))
    )


def test_learning_it_puts_the_right_document_first() -> None:
    scores = torch.zeros(1, 3, requires_grad=True)
    before = ranking(4.0)(scores, COLUMNS, np.array([[1]]), np.array([0, 2]))
    before.backward()
    assert scores.grad is not None
    gradient = dict(zip(SETS.vocabulary, (-scores.grad[0]).tolist(), strict=True))
    assert gradient["vietnam"] > 0 > gradient["bark"]


def test_a_teacher_shares_what_is_right() -> None:
    known, teacher_probs = np.array([[1, 0]]), np.array([[0.4, 0.6]], np.float32)
    scores, columns, others = SCORES, COLUMNS, np.array([2])
    apart = [float(ranking(2.0)(scores, columns, np.array([[d, 1 - d]]), others)) for d in (1, 0)]
    constraint = PostingsConstraint(SETS, words(3))
    both = RankingLoss(constraint, 2.0, distil=0.5)(scores, columns, known, others, teacher_probs)
    assert float(both) == pytest.approx(0.7 * apart[0] + 0.3 * apart[1], abs=1e-5)


def test_the_querys_own_words_count_from_the_start() -> None:
    constraint, others = PostingsConstraint(SETS, words(3)), np.array([0, 1, 2])
    known, queries = np.array([[0]]), ["the bark of a tree"]
    flat = torch.zeros(1, 3)
    ranking_loss = RankingLoss(constraint, 2.0, lexical_weight=3.0)
    loss = ranking_loss(flat, COLUMNS, known, others, None, queries)
    common = 3.0 * np.log(1 + 1.5 / 2.5)  # two of three documents have `bark`
    heavy, bare = (np.exp(common * weight ** (1 / FLATTENING)) for weight in (1.5, 1.0))
    assert float(loss) == pytest.approx(-np.log(heavy / (heavy + bare + 1)), abs=1e-5)
