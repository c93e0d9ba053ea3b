"""Orders of targets: those that change each time a pair is met, and random ones for good."""

import numpy as np

from tsgen.docids.term_set import TermSets
from tsgen.records import TermSet
from tsgen.train.examples import ANY_ORDER, QueryFirst, at_random, random_order, reorder

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
    assert reorder("random", SETS) is None
    assert reorder("shuffled", SETS) is at_random
    assert isinstance(reorder("query", SETS), QueryFirst)


def test_a_random_order_is_that_of_its_document_for_good() -> None:
    names = [f"t{n}" for n in range(6)]
    sets = TermSets.of([TermSet(f"d{i}", tuple(names), (1.0,) * 6) for i in range(30)])
    documents = [7, 3, 7, 12]
    rows = [row.tolist() for row in map(random_order(sets, documents, 2, 0).row, range(8))]
    assert all(sorted(row) == sorted(sets.terms(0)) for row in rows)
    assert rows[0:2] == rows[4:6]  # the same document
    assert rows[0] != rows[1]  # two orders of it
    assert rows[0] != rows[2]  # two documents
    later = random_order(sets, [12, 7], 2, 0)
    assert [later.row(i).tolist() for i in range(4)] == [*rows[6:8], *rows[0:2]]
    every = random_order(sets, range(30), 1, 0)
    assert len({tuple(every.row(i).tolist()) for i in range(30)}) > 25
    other = random_order(sets, range(30), 1, 1)
    assert every.values.tolist() != other.values.tolist()
