import numpy as np

from oracle.decoding import ragged
from tsgen.decode.hypotheses import Backpointers, Found, Hits, Trail, as_hits
from tsgen.records import Hit, Reason


def test_hits_have_ids_and_texts() -> None:
    found = [Found(1, -3.0, (2, 0, -1), (-1.0, -1.5, -0.5), (4, 1, 1))]
    hits = as_hits(found, ["d0", "d1"], ["white", "egg", "bread"])
    assert hits == [Hit("d1", -3.0, Reason(("bread", "white"), (-1.0, -1.5), (4, 1)))]


def test_without_a_path_the_reason_is_empty() -> None:
    assert as_hits([Found(0, 2.0, (), (), ())], ["d0"], [])[0].reason == Reason((), (), ())


def test_best_k_of_each_query_ties_by_document() -> None:
    hits = Hits(2, k=2)
    trail = Trail()
    trail.add(
        Backpointers(
            np.zeros(3, dtype=np.int64), np.arange(3), -np.arange(3.0), np.array([5, 4, 3])
        )
    )
    assert hits.bar().tolist() == [-np.inf, -np.inf]
    hits.add(np.array([0, 1]), np.array([-1.0, -2.0]), np.array([0, 1]), ragged([[7, 3], [3]]), 1)
    assert hits.bar().tolist() == [-1.0, -np.inf]
    hits.add(np.array([0, 1]), np.array([-1.0, -1.5]), np.array([1, 2]), ragged([[2], [3]]), 1)
    first, second = hits.found(trail)
    assert [(h.document, h.score, h.units) for h in first] == [(2, -1.0, (1,)), (3, -1.0, (0,))]
    assert [(h.document, h.score, h.units) for h in second] == [(3, -1.5, (2,))]


def test_a_path_is_walked_back() -> None:
    trail = Trail()
    trail.add(
        Backpointers(np.array([0, 0]), np.array([5, 6]), np.array([-1.0, -2.0]), np.array([9, 8]))
    )
    trail.add(
        Backpointers(np.array([1, 0]), np.array([7, 8]), np.array([-3.0, -4.0]), np.array([2, 1]))
    )
    assert trail.found(0, -5.0, 2, 0) == Found(0, -5.0, (6, 7), (-2.0, -3.0), (8, 2))
    assert trail.found(0, -1.0, 1, 0) == Found(0, -1.0, (5,), (-1.0,), (9,))
