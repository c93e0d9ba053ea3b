"""The set prior: its definition, and the three ways to use it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.decoding import Corpus, ragged, subword_corpus, word_corpus
from oracle.toy_backbone import FixedBackbone, ToyBackbone
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.constrain.trie import SequenceTrie
from tsgen.decode.ranking import FLATTENING, SetPrior
from tsgen.decode.search import search, search_by_prior
from tsgen.docids.spelling import words
from tsgen.docids.term_set import TermSets
from tsgen.errors import ConfigError
from tsgen.records import TermSet
from tsgen.settings import DecodeConfig

WORDS = word_corpus([(0, 1), (1, 2), (3,), (0, 1), (2, 3, 0)])
PIECES = subword_corpus([(0, 1), (1, 2), (2,)], [(0,), (0, 1), (2, 3, 3)])


def term_values(corpus: Corpus, backbone: ToyBackbone, how: str) -> list[float]:
    """By the definition, term by term."""
    logits = backbone.row("q", ()).astype(np.float64)
    log_probs = logits - np.log(np.exp(logits).sum())
    values = []
    for term in range(corpus.terms):
        tokens = corpus.spelling.spell(term)
        mean = log_probs[tokens[:-1] if len(tokens) > 1 else tokens].mean()
        matched = np.log(1 + max(0, mean + np.log(len(logits))))
        values.append(matched if how == "matched" else mean)
    return values


@pytest.mark.parametrize("corpus", [WORDS, PIECES], ids=["words", "pieces"])
@pytest.mark.parametrize("how", ["mean", "sum", "matched"])
def test_prior_by_its_definition(corpus: Corpus, how: str) -> None:
    backbone = ToyBackbone(corpus.outputs)
    values = term_values(corpus, backbone, how)
    total = [sum(values[t] for t in s) / (len(s) if how == "mean" else 1) for s in corpus.sets]
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    config = DecodeConfig(prior=how)
    found = search_by_prior(backbone, constraint, ["other", "q"], 3, config)[1]
    expected = sorted(range(len(total)), key=lambda d: (-round(total[d], 5), d))[:3]
    assert [hit.document for hit in found] == expected
    np.testing.assert_allclose(
        [hit.score for hit in found], [total[d] for d in expected], rtol=1e-5
    )


def test_the_prior_that_counts_weights() -> None:
    rows = [TermSet("a", ("x", "y"), (3.0, 1.0)), TermSet("b", ("z", "x"), (1.0, 1.0))]
    sets = TermSets.of(rows)
    backbone = ToyBackbone(len(sets.vocabulary))
    constraint = PostingsConstraint(sets, words(len(sets.vocabulary)))
    logits = backbone.row("q", ()).astype(np.float64)
    p = dict(zip(sets.vocabulary, np.exp(logits) / np.exp(logits).sum(), strict=True))
    u = 1 / FLATTENING
    sums = {0: 0.75 * p["x"] ** u + 0.25 * p["y"] ** u, 1: (p["z"] ** u + p["x"] ** u) / 2}
    (found,) = search_by_prior(backbone, constraint, ["q"], 2, DecodeConfig(prior="weighted"))
    assert {hit.document: hit.score for hit in found} == pytest.approx(
        {document: np.log(value) for document, value in sums.items()}, rel=1e-5
    )
    assert [hit.document for hit in found] == sorted(sums, key=lambda d: -sums[d])
    with pytest.raises(ConfigError, match=r"'weighted'.*set decode.prior=matched"):
        search(backbone, constraint, ["q"], 2, DecodeConfig(prior="weighted", look_ahead=1.0))


def test_pool_is_the_best_of_the_prior() -> None:
    backbone, constraint = (
        ToyBackbone(WORDS.outputs),
        PostingsConstraint(WORDS.arrays, WORDS.spelling),
    )
    best = search_by_prior(backbone, constraint, ["q", "r"], 2)
    found = search(backbone, constraint, ["q", "r"], 9, DecodeConfig(pool=2, merge="none"))
    free = search(backbone, constraint, ["q", "r"], 9, DecodeConfig(merge="none"))
    for prior, pooled, everything in zip(best, found, free, strict=True):
        allowed = {hit.document for hit in prior}
        assert [h.document for h in pooled] == [
            h.document for h in everything if h.document in allowed
        ]


def test_a_given_pool_takes_the_place_of_the_priors() -> None:
    backbone, constraint = (
        ToyBackbone(WORDS.outputs),
        PostingsConstraint(WORDS.arrays, WORDS.spelling),
    )
    found = search(backbone, constraint, ["q"], 9, DecodeConfig(pool=1), ragged([[1, 2, 4]]))
    assert sorted(hit.document for hit in found[0]) == [1, 2, 4]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from([None, 1, 2]), st.sampled_from(["sum", "matched"]), st.data())
def test_look_ahead_is_the_best_document_left(
    heavy: int | None, how: str, data: st.DataObject
) -> None:
    term_set = st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True)
    corpus = word_corpus(data.draw(st.lists(term_set, min_size=1, max_size=8)))
    backbone = ToyBackbone(corpus.outputs)
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling, heavy=heavy)
    _, _, hidden = backbone.encode(["q"])
    ahead = SetPrior.after_first_step(backbone, constraint, hidden, how).look_ahead(0.5)
    values = term_values(corpus, backbone, how)
    used = sorted({t for s in corpus.sets for t in s})
    frontier = constraint.start(1)
    cursor = constraint.cursor(frontier, np.zeros(1, dtype=np.int64))
    allowed = constraint.allowed(frontier, cursor)
    rows = allowed.follow(cursor, np.zeros(len(used), dtype=np.int64), np.array(used))
    after = constraint.close(frontier, rows)
    expected = [
        0.5 * max(sum(values[t] for t in s if t != term) for s in corpus.sets if term in s)
        for term in used
    ]
    found = ahead(after, np.zeros(len(used), dtype=np.int64))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_look_ahead_saves_a_document_that_a_narrow_beam_loses() -> None:
    # The best first term (0) leads only to poor documents; the document of 1 and 2 is better.
    corpus = word_corpus([(0, 3), (1, 2)])
    backbone = FixedBackbone([-1.0, -1.2, -1.3, -9.0, -2.0])
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    plain = search(backbone, constraint, ["q"], 1, DecodeConfig(beam=1))
    guided = search(
        backbone, constraint, ["q"], 1, DecodeConfig(beam=1, look_ahead=1.0, prior="sum")
    )
    assert [hit.document for hit in plain[0]] == [0]
    assert [hit.document for hit in guided[0]] == [1]


def test_sequences_have_no_set_prior() -> None:
    trie = SequenceTrie(ragged([[0, 1]]))
    with pytest.raises(ConfigError, match="term sets"):
        search(ToyBackbone(3), trie, ["q"], 1, DecodeConfig(pool=5))
