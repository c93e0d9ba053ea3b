"""What becomes of hypotheses that one document is left for: B documents are found, or they stop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.decoding import Corpus, order_log_prob, subword_corpus, word_corpus
from oracle.toy_backbone import FixedBackbone, ToyBackbone
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.hypotheses import Found
from tsgen.decode.search import search
from tsgen.settings import DecodeConfig

SPELLED = [(0,), (1, 2), (1, 3, 0), (2,), (3, 3), (0, 1)]
sets = st.lists(
    st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True), min_size=2, max_size=8
)
corpora = st.builds(word_corpus, sets) | sets.map(lambda some: subword_corpus(some, SPELLED))
merges = st.sampled_from(["none", "max"])
many = settings(max_examples=60, deadline=None)


def found_by(corpus: Corpus, backbone: ToyBackbone, **how: object) -> list[Found]:
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    return search(backbone, constraint, ["q"], 100, DecodeConfig.from_mapping(how))[0]


def crowd() -> tuple[Corpus, ToyBackbone]:
    """Twelve documents of eight terms, of which the first has all the likely ones."""
    own = np.arange(8, 8 + 11 * 7).reshape(11, 7).tolist()
    corpus = word_corpus([tuple(range(8)), *((i % 8, *rest) for i, rest in enumerate(own))])
    return corpus, FixedBackbone([*[5.0] * 8, *[0.0] * (corpus.outputs - 8)])


@pytest.mark.parametrize("merge", ["none", "max"])
def test_orders_of_one_set_fill_the_beam_but_not_where_it_leaves(merge: str) -> None:
    corpus, backbone = crowd()
    papers_text = found_by(corpus, backbone, beam=10, merge=merge)
    assert len(papers_text) < 5
    apart = found_by(corpus, backbone, beam=10, merge=merge, decided="apart")
    assert len(apart) == 10  # B documents
    assert apart[0].document == papers_text[0].document == 0
    assert apart[0].score == pytest.approx(papers_text[0].score, abs=1e-4)
    for hit in apart:
        assert sorted(hit.units) == sorted(corpus.sets[hit.document])
        assert hit.score == pytest.approx(
            order_log_prob(corpus, backbone, "q", hit.units), abs=1e-4
        )


def test_the_authors_rule_compares_documents_after_different_numbers_of_terms() -> None:
    corpus, backbone = crowd()
    stopped = found_by(corpus, backbone, beam=10, merge="none", decided="stop")
    assert len(stopped) >= 10
    generated = {sum(one < 0 for one in hit.log_probs) for hit in stopped}
    assert generated == {1, 2}
    for hit in stopped:
        so_far = tuple(u for u, one in zip(hit.units, hit.log_probs, strict=True) if one < 0)
        assert hit.score == pytest.approx(order_log_prob(corpus, backbone, "q", so_far), abs=1e-4)
        assert sum(set(so_far) <= set(other) for other in corpus.sets) == 1
        assert sorted(hit.units) == sorted(corpus.sets[hit.document])


@given(corpora, merges, st.sampled_from(["full", "docid", "valid"]))
@many
def test_a_wide_beam_finds_every_document_with_the_score_of_an_order(
    corpus: Corpus, merge: str, normalise: str
) -> None:
    backbone, how = ToyBackbone(corpus.outputs), {"normalise": normalise}
    wide = {"beam": 3000, "decided": "apart", "merge": merge, **how}
    found = found_by(corpus, backbone, **wide)
    assert sorted(hit.document for hit in found) == list(range(len(corpus.sets)))
    exact = found_by(corpus, backbone, beam=3000, merge="none", **how)
    best = {hit.document: hit.score for hit in exact}
    for hit in found:
        scored = order_log_prob(corpus, backbone, "q", hit.units, **how)
        assert hit.score == pytest.approx(scored, abs=1e-4)
        assert sorted(hit.units) == sorted(corpus.sets[hit.document])
        assert hit.score <= best[hit.document] + 1e-4


@given(corpora, merges, st.sampled_from(["apart", "stop"]), st.integers(1, 4), st.integers(1, 4))
@many
def test_stopping_early_and_batches_change_nothing(
    corpus: Corpus, merge: str, decided: str, beam: int, k: int
) -> None:
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    backbone, queries = ToyBackbone(corpus.outputs), ["a", "b", "c"]
    config = DecodeConfig.from_mapping({"beam": beam, "merge": merge, "decided": decided})
    whole = config.model_copy(update={"early_stop": False, "batch": 1})
    short = search(backbone, constraint, queries, k, config)
    full = search(backbone, constraint, queries, k, whole)
    assert short == full
    for found in short:
        assert len({hit.document for hit in found}) == len(found) <= k
        scores = [hit.score for hit in found]
        assert scores == sorted(scores, reverse=True)
