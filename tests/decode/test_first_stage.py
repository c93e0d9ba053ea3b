"""The first stage beside the sums that it stands for, over all documents."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.decode import first_stage
from tsgen.decode.first_stage import FirstStage
from tsgen.decode.topk import best_of
from tsgen.docids.term_set import TermSets, by_posting, shares_of
from tsgen.errors import DamagedError
from tsgen.records import TermSet

WORDS = ["bake", "bread", "dark", "egg", "rye", "white"]
SETS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5, unique=True), min_size=1, max_size=12
)
WIDTH = 5


class Collection:
    """Term sets with random weights and random term vectors."""

    def __init__(self, sets: list[list[str]], seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.sets = TermSets.of(
            TermSet(str(i), tuple(terms), tuple(sorted(self.rng.random(len(terms)), reverse=True)))
            for i, terms in enumerate(sets)
        )
        size = len(self.sets.vocabulary)
        self.vectors = self.rng.normal(size=(size, WIDTH)).astype(np.float32)
        assert self.sets.doc_weights is not None
        self.weights = self.sets.doc_weights.astype(np.float32)
        self.shares = shares_of(self.sets.doc_offsets, self.sets.doc_weights)

    def stage(self) -> FirstStage:
        terms, offsets = self.sets.doc_terms, self.sets.post_offsets
        weights, shares = (by_posting(terms, x, offsets) for x in (self.weights, self.shares))
        return FirstStage.build(offsets, self.sets.post_docs, weights, shares, self.vectors)

    def table(self, values: np.ndarray) -> np.ndarray:
        """[D, V] values beside the terms of documents, 0 elsewhere."""
        found = np.zeros((len(self.sets), len(self.sets.vocabulary)), np.float32)
        sizes = np.diff(self.sets.doc_offsets)
        found[np.repeat(np.arange(len(sizes)), sizes), self.sets.doc_terms] = values
        return found

    def found(self, query: np.ndarray, own: np.ndarray) -> np.ndarray:
        """[D] a(Q, D) as the first stage has it; NaN for documents that it does not name."""
        stage = self.stage()
        places, scores = stage.spoken(query[None])
        factors = np.full(len(own), 2, np.float32)
        documents, sums = stage.candidates(places[0], 3 * scores[0], own, factors)
        assert len(set(documents.tolist())) == len(documents)
        every = np.full(len(self.sets), np.nan, np.float32)
        every[documents] = sums
        return every


@settings(deadline=None)
@given(SETS, st.integers(0, 99), st.data())
def test_it_is_the_sum_over_spoken_terms_and_the_querys_words(
    sets: list[list[str]], seed: int, data: st.DataObject
) -> None:
    made = Collection(sets, seed)
    size = len(made.sets.vocabulary)
    own = data.draw(st.lists(st.integers(0, size - 1), unique=True, max_size=3))
    query = made.rng.normal(size=WIDTH).astype(np.float32)
    said = np.maximum(made.vectors @ query, 0)  # fewer terms than are spoken
    spoken, words = made.table(np.sqrt(made.shares)), made.table(made.weights)
    wanted = 3 * spoken @ said + 2 * words[:, own].sum(axis=1)
    named = (spoken @ said > 0) | (words[:, own].sum(axis=1) > 0)
    found = made.found(query, np.array(own, np.int32))
    np.testing.assert_array_equal(~np.isnan(found), named)
    np.testing.assert_allclose(found[named], wanted[named], rtol=1e-3, atol=1e-4)


def test_of_a_frequent_word_the_heaviest_documents_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(first_stage, "OWN_LEADERS", 4)
    made = Collection([["bread"], ["bread", "egg"]] * 6, 0)
    made.vectors[:] = 0
    egg, bread = (made.sets.term_id(word) for word in ("egg", "bread"))
    words = made.table(made.weights)[:, bread]
    found = made.found(np.ones(WIDTH, np.float32), np.array([bread], np.int32))
    assert set(np.flatnonzero(~np.isnan(found))) == set(np.argsort(-words, kind="stable")[:4])
    both = made.found(np.ones(WIDTH, np.float32), np.array([egg, bread], np.int32))
    assert (~np.isnan(both)).sum() <= 4


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0]), st.integers(0, 99)), unique=True),
    st.integers(1, 9),
)
def test_the_best_are_those_of_a_sorted_list(rows: list[tuple[float, int]], count: int) -> None:
    scores = np.array([score for score, _ in rows], np.float32)
    documents = np.array([document for _, document in rows], np.int32)
    best = best_of(scores, documents, count)
    wanted = sorted(rows, key=lambda row: (-row[0], row[1]))[:count]
    assert [rows[place] for place in best] == wanted


def test_it_is_the_same_from_files(tmp_path: Path) -> None:
    made = Collection([["bread", "egg"], ["egg", "rye"]], 1)
    stage = made.stage()
    stage.save(tmp_path)
    loaded = FirstStage.load(tmp_path, len(made.sets))
    for name in first_stage.NAMES:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(stage, name))
    with pytest.raises(DamagedError, match="numbers outside"):
        FirstStage.load(tmp_path, 1)
