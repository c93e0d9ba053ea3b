"""The beam search against brute force over all permutations, on many tiny corpora."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracle.decoding import (
    PIECES,
    TERMINATOR,
    Corpus,
    brute_force,
    order_log_prob,
    ragged,
    subword_corpus,
    word_corpus,
)
from oracle.toy_backbone import ToyBackbone, as_it_is, as_set_of_tokens, as_sets
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.hypotheses import Found
from tsgen.decode.search import search
from tsgen.settings import DecodeConfig

WIDE = 3000  # more hypotheses than 8 documents of 5 terms have
EVERYTHING = 100
many = settings(
    max_examples=500, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
some = settings(many, max_examples=100)


@dataclass(frozen=True)
class Case:
    """A corpus, a query, and how the constraint stores its states."""

    corpus: Corpus
    query: str
    heavy: int | None
    list_up_to: int | None

    def constraint(self, one_document: bool = True) -> PostingsConstraint:
        return PostingsConstraint(
            self.corpus.arrays,
            self.corpus.spelling,
            heavy=self.heavy,
            list_up_to=self.list_up_to,
            one_document=one_document,
        )

    def backbone(self, sets: bool = False) -> ToyBackbone:
        """Logits of every order of its own, or of every set."""
        by_set = as_set_of_tokens if self.by_words else BY_SET
        return ToyBackbone(self.outputs, by_set if sets else as_it_is)

    @property
    def by_words(self) -> bool:
        return len(self.corpus.spelling) == len(self.corpus.spelling.tokens)

    @property
    def outputs(self) -> int:
        return self.corpus.outputs

    def search(self, backbone: ToyBackbone, k: int = EVERYTHING, **settings) -> list[Found]:
        pool, one_document = settings.pop("pool", None), settings.pop("one_document", True)
        config = DecodeConfig(**{"beam": WIDE, **settings})
        constraint = self.constraint(one_document)
        return search(backbone, constraint, [self.query], k, config, pool)[0]


BY_SET = as_sets(TERMINATOR)


@st.composite
def cases(draw: st.DrawFn, terms: int = 6) -> Case:
    """Up to 8 documents of up to 5 terms: subsets, duplicates and short ones among them."""
    count = draw(st.integers(1, terms))
    term_set = st.lists(st.integers(0, count - 1), min_size=1, max_size=5, unique=True)
    sets = draw(st.lists(term_set, min_size=1, max_size=8))
    if draw(st.booleans()):
        corpus = word_corpus(sets)
    else:
        pieces = st.lists(st.integers(0, PIECES - 1), min_size=1, max_size=3)
        corpus = subword_corpus(sets, draw(st.lists(pieces, min_size=count, max_size=count)))
    corpus = replace(corpus, outputs=draw(st.sampled_from([1, 4])) * corpus.outputs)
    heavy = draw(st.sampled_from([None, 1, 2]))
    return Case(corpus, draw(st.sampled_from("abc")), heavy, draw(st.sampled_from([None, 0, 1])))


def check_ranking(found: list[Found], expected: dict[int, float]) -> None:
    """The same documents with the same scores, in order; rounding may swap what is nearly equal."""
    assert sorted(hit.document for hit in found) == sorted(expected)
    scores = [expected[hit.document] for hit in found]
    np.testing.assert_allclose([hit.score for hit in found], scores, atol=1e-4)
    assert all(a >= b - 1e-4 for a, b in pairwise(scores))
    for better, worse in pairwise(found):
        assert (-better.score, better.document) < (-worse.score, worse.document)


@many
@given(cases(), st.sampled_from(["full", "docid", "valid"]), st.sampled_from([1.0, 3.0]))
def test_wide_beam_equals_brute_force(case: Case, normalise: str, temperature: float) -> None:
    backbone = case.backbone()
    how = {"normalise": normalise, "temperature": temperature}
    orders = brute_force(case.corpus, backbone, case.query, **how)
    found = case.search(backbone, merge="none", **how)
    check_ranking(found, {d: scored[0][0] for d, scored in orders.items()})
    for hit in found:
        assert sum(hit.log_probs) == pytest.approx(hit.score)
        assert sorted(hit.units) == sorted(case.corpus.sets[hit.document])
        holders = [
            sum(set(hit.units[: n + 1]) <= set(s) for s in case.corpus.sets)
            for n in range(len(hit.units))
        ]
        assert list(hit.valid_documents) == holders


def added_up(orders: Mapping[int, list[tuple[float, tuple[int, ...]]]]) -> dict[int, float]:
    """For each document the log p of its orders together."""
    return {d: np.logaddexp.reduce([p for p, _ in scored]) for d, scored in orders.items()}


@some
@given(cases())
def test_merging_is_exact_where_the_model_sees_sets(case: Case) -> None:
    backbone = case.backbone(sets=True)
    orders = brute_force(case.corpus, backbone, case.query)
    best = {d: scored[0][0] for d, scored in orders.items()}
    check_ranking(case.search(backbone, merge="max"), best)
    check_ranking(case.search(backbone, merge="none"), best)
    check_ranking(case.search(backbone, merge="sum"), added_up(orders))


@many
@given(cases(), st.booleans())
def test_probability_of_a_document(case: Case, one_document: bool) -> None:
    backbone = case.backbone(sets=True)
    orders = brute_force(case.corpus, backbone, case.query, normalise="valid")
    how = {"merge": "sum", "normalise": "valid", "one_document": one_document}
    found = case.search(backbone, **how)
    check_ranking(found, added_up(orders))
    for hit in found:  # also the terms that needed no search are shown
        assert sorted(hit.units) == sorted(case.corpus.sets[hit.document])
    sets = {frozenset(s) for s in case.corpus.sets}
    if not any(one < other for one in sets for other in sets):
        once = {frozenset(hit.units): hit.score for hit in found}  # equal sets are found together
        assert np.logaddexp.reduce(list(once.values())) == pytest.approx(0, abs=1e-4)


@some
@given(
    cases(),
    st.integers(1, 4),
    st.sampled_from(["max", "none"]),
    st.integers(1, 9),
    st.integers(0, 2),
)
def test_narrow_beam_finds_valid_documents_in_order(
    case: Case, beam: int, merge: str, k: int, per_document: int
) -> None:
    backbone = case.backbone()
    found = case.search(backbone, k, beam=beam, merge=merge, per_document=per_document)
    assert len(found) <= k
    assert len({hit.document for hit in found}) == len(found)
    for hit in found:
        assert sorted(hit.units) == sorted(case.corpus.sets[hit.document])
        likelihood = order_log_prob(case.corpus, backbone, case.query, hit.units)
        assert hit.score == pytest.approx(likelihood, abs=1e-4)
    order = [(-hit.score, hit.document) for hit in found]
    assert order == sorted(order)


@settings(many, max_examples=200)
@given(
    cases(),
    st.integers(1, 5),
    st.sampled_from(["max", "sum", "none"]),
    st.integers(1, 4),
    st.booleans(),
    st.integers(0, 2),
)
def test_stopping_early_changes_nothing(
    case: Case, beam: int, merge: str, k: int, sets: bool, per_document: int
) -> None:
    backbone = case.backbone(sets)
    how = {"beam": beam, "merge": merge, "per_document": per_document}
    full = case.search(backbone, k, early_stop=False, one_document=False, **how)
    whole_cost, backbone.rows = backbone.rows, 0
    short = case.search(backbone, k, **how)
    assert short == full
    assert backbone.rows <= whole_cost


@some
@given(cases(), st.integers(1, 4), st.sampled_from(["max", "sum", "none"]), st.integers(0, 2))
def test_how_states_are_stored_changes_nothing(
    case: Case, beam: int, merge: str, per_document: int
) -> None:
    backbone = case.backbone()
    plain = Case(case.corpus, case.query, None, None)
    how = {"beam": beam, "merge": merge, "per_document": per_document}
    assert case.search(backbone, **how) == plain.search(backbone, **how)


@some
@given(cases(), st.integers(1, 9), st.sampled_from(["max", "sum", "none"]))
def test_states_that_are_the_same_are_scored_once(case: Case, beam: int, merge: str) -> None:
    """For two queries together, which may have equal sets but no equal states."""
    found, scored = [], []
    for order_free in (False, True):
        backbone = case.backbone(sets=True)
        backbone.order_free = order_free
        queries, config = [case.query, "another"], DecodeConfig(beam=beam, merge=merge)
        found.append(search(backbone, case.constraint(), queries, EVERYTHING, config))
        scored.append(backbone.scored)
    assert found[0] == found[1]
    assert scored[1] <= scored[0]


def test_orders_of_one_set_are_scored_once() -> None:
    case = Case(word_corpus([[0, 1, 2, 3]]), "a", None, None)
    backbone = case.backbone(sets=True)
    backbone.order_free = True
    case.search(backbone, merge="none")
    assert backbone.scored == 1 + 4 + 6 + 4  # the sets with fewer than four of the four terms


@some
@given(cases(), st.data())
def test_pool_limits_the_search(case: Case, data: st.DataObject) -> None:
    documents = st.integers(0, len(case.corpus.sets) - 1)
    pool = sorted(data.draw(st.sets(documents, min_size=1)))
    backbone = case.backbone()
    found = case.search(backbone, merge="none", pool=ragged([pool]))
    orders = brute_force(case.corpus, backbone, case.query)
    check_ranking(found, {d: orders[d][0][0] for d in pool})


@some
@given(cases(), st.integers(1, 4), st.integers(1, 9))
def test_narrow_beam_finds_no_more_than_the_probability_of_a_document(
    case: Case, beam: int, k: int
) -> None:
    backbone, how = case.backbone(sets=True), {"normalise": "valid", "merge": "sum"}
    found = case.search(backbone, k, beam=beam, **how)
    whole = added_up(brute_force(case.corpus, backbone, case.query, normalise="valid"))
    assert 0 < len(found) <= k
    for hit in found:
        assert hit.score <= whole[hit.document] + 1e-4
        assert sorted(hit.units) == sorted(case.corpus.sets[hit.document])
    order = [(-hit.score, hit.document) for hit in found]
    assert order == sorted(order)


@settings(many, max_examples=50)
@given(cases(), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_queries_do_not_disturb_each_other(case: Case, beam: int, batch: int, added: bool) -> None:
    backbone, queries = case.backbone(), ["a", "b", "c"]
    how = {"normalise": "valid", "merge": "sum"} if added else {}
    config = DecodeConfig(beam=beam, batch=batch, **how)
    together = search(backbone, case.constraint(), queries, 5, config)
    for query, found in zip(queries, together, strict=True):
        assert search(backbone, case.constraint(), [query], 5, config) == [found]
