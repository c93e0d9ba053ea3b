"""Orders that change each time a pair is met."""

import numpy as np

from tsgen.docids.term_set import TermSets
from tsgen.records import TermSet
from tsgen.train.examples import ANY_ORDER, QueryFirst, at_random, reorder

SETS = TermSets.of([TermSet("x", ("breads", "rye", "oven", "salt", "yeast"), (1.0,) * 5)])
TERMS = SETS.terms(0)


def orders(query: str, count: int = 400) -> list[list[str]]:
    rng, first = np.random.default_rng(0), QueryFirst(SETS)
    return [[SETS.term(t) for t in first(TERMS, query, rng)] for _ in range(count)]


def test_the_querys_terms_come_first_by_stem() -> None:
    made = orders("how does rye bread taste")
    assert all(sorted(order) == sorted(SETS.vocabulary) for order in made)
    share = np.mean([set(order[:2]) == {"breads", "rye"} for order in made])
    by_chance = 1 / 10  # of the ten pairs of five terms
    assert abs(share - (1 - ANY_ORDER + ANY_ORDER * by_chance)) < 0.08
    assert {order[0] for order in made} >= {"breads", "rye"}


def test_without_a_word_in_common_any_order() -> None:
    assert {order[0] for order in orders("fish")} == set(SETS.vocabulary)


def test_by_name() -> None:
    assert reorder("weight", SETS) is None
    assert reorder("random", SETS) is at_random
    assert isinstance(reorder("query", SETS), QueryFirst)
