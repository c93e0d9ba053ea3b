"""The reasons of what two stages found, beside plain sets."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.decode.reasons import FEW, SHOWN, Reasons
from tsgen.docids.term_set import TermSets
from tsgen.records import TermSet

WORDS = [f"w{i:02}" for i in range(14)]
SETS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=12, unique=True), min_size=1, max_size=9
)


@settings(deadline=None)
@given(SETS, st.integers(0, 99), st.data())
def test_reasons_are_the_named_terms_that_add_most(
    sets: list[list[str]], seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    made = TermSets.of(
        TermSet(str(i), tuple(row), tuple(sorted(rng.random(len(row)), reverse=True)))
        for i, row in enumerate(sets)
    )
    assert made.doc_weights is not None
    reasons = Reasons.of(made)
    size = len(made.vocabulary)
    named = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1)))), np.int32)
    factors = rng.random(len(named)).astype(np.float32)
    documents = np.arange(len(sets), dtype=np.int32)
    offsets, terms, sizes = reasons(documents, named, factors)
    adds = dict(zip(named.tolist(), factors.tolist(), strict=True))
    for document, (start, end) in enumerate(pairwise(offsets.tolist())):
        own = made.terms(document).tolist()
        row = slice(made.doc_offsets[document], made.doc_offsets[document + 1])
        weights = dict(zip(own, made.doc_weights[row].tolist(), strict=True))
        wanted = sorted((t for t in own if t in adds), key=lambda t: -adds[t] * weights[t])[:SHOWN]
        assert terms[start:end].tolist() == (wanted or own[:FEW])
        left = set(range(len(sets)))
        for term, count in zip(terms[start:end].tolist(), sizes[start:end].tolist(), strict=True):
            left &= set(made.postings(term).tolist())
            assert count == len(left)
