"""Which written queries stay."""

from collections.abc import Sequence

import numpy as np

from tsgen.synthetic.round_trip import Bools, KeptQueries, LexicalFinder, choose, normalise, once


class Finds:
    """Finds a document with the queries that name its position."""

    def finds(self, queries: Sequence[str], documents: Sequence[int], k: int) -> Bools:
        assert k == 3
        pairs = zip(queries, documents, strict=True)
        return np.array([str(document) in query for query, document in pairs])


def test_normal_form() -> None:
    assert normalise("  What IS bread? ") == normalise("what is: bread")
    assert normalise("white bread") != normalise("bread white")


def test_duplicates_and_the_round_trip() -> None:
    rows = [("a", ["is 7", "IS 7!", "what", "?"]), ("b", ["is 8", "own  Query"])]
    kept = choose(rows, 7, {"own query"}, Finds(), 3)
    assert kept == [KeptQueries("a", ["is 7"], 4, 2, 1), KeptQueries("b", ["is 8"], 2, 1, 0)]


def test_without_a_finder_all_distinct_ones_stay() -> None:
    assert choose([("a", ["x", "y"])], 0, set(), None, 0) == [KeptQueries("a", ["x", "y"], 2, 0, 0)]


def test_a_query_stays_with_its_first_document() -> None:
    rows = [KeptQueries("a", ["x", "y"], 2, 0, 0), KeptQueries("b", ["X", "z"], 3, 1, 0)]
    assert list(once(rows)) == [rows[0], KeptQueries("b", ["z"], 3, 2, 0)]


def test_bm25_finds_by_words() -> None:
    finder = LexicalFinder(["white bread", "brown bread", "green tea"])
    found = finder.finds(["white bread", "bread", "bread", "water"], [0, 1, 0, 2], k=1)
    assert found.tolist() == [True, False, True, False]
    assert finder.finds(["bread", "tea"], [1, 0], k=2).tolist() == [True, False]
