"""The scores of a pool beside the formula, document by document."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.decode.pool_ranking import PoolRanking
from tsgen.docids.term_set import TermSets
from tsgen.records import TermSet
from tsgen.terms.passages import DocumentVectors
from tsgen.terms.sentences import TextVectors, joined

WORDS = [f"w{i}" for i in range(9)]
SETS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6, unique=True), min_size=1, max_size=6
)
WIDTH = 24


def unit(rows: np.ndarray) -> np.ndarray:
    found: np.ndarray = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return found


@settings(deadline=None)
@given(SETS, st.integers(0, 99), st.sampled_from([0.0, 0.3]), st.data())
def test_it_is_the_formula(
    sets: list[list[str]], seed: int, share: float, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)

    def texts(count: int) -> TextVectors:
        whole = unit(rng.normal(size=(count, WIDTH)))
        return joined(whole, [unit(rng.normal(size=(rng.integers(4), WIDTH))) for _ in whole])

    counts = rng.integers(3, size=len(sets))
    vectors = DocumentVectors.joined(texts(len(sets)), counts, texts(counts.sum()))
    terms = TermSets.of(
        TermSet(str(i), tuple(row), tuple(rng.random(len(row)))) for i, row in enumerate(sets)
    )
    assert terms.doc_weights is not None
    ranking = PoolRanking.of(terms.with_vectors(vectors))
    size = len(terms.vocabulary)
    own = sorted(data.draw(st.lists(st.integers(0, size - 1), unique=True, max_size=4)))
    factors = rng.random(len(own)).astype(np.float32)
    query = unit(rng.normal(size=WIDTH))
    pool = np.array(data.draw(st.permutations(range(len(sets)))), np.int32)
    found = ranking.scores(pool, query, np.array(own, np.int32), factors, 20.0, share)

    similar = vectors.similarity((query @ vectors.as_floats().T)[None], share)[0]
    for document, score in zip(pool.tolist(), found.tolist(), strict=True):
        row = slice(terms.doc_offsets[document], terms.doc_offsets[document + 1])
        weights = dict(zip(terms.doc_terms[row].tolist(), terms.doc_weights[row], strict=True))
        words = sum(
            factor * float(weights.get(term, 0))
            for term, factor in zip(own, factors.tolist(), strict=True)
        )
        assert abs(score - (20 * similar[document] + words)) < 0.02
        products = vectors.as_floats()[vectors.offsets[document] :] @ query
        best = ranking.best_passage(document, query)
        passages = products[: vectors.passages[document]]
        assert (best is None) == (counts[document] == 0)
        assert passages[best or 0] >= passages.max() - 1e-3
