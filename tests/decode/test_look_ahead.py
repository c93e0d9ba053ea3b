"""A look-ahead of the caller's own, over sequences."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.decoding import ragged
from oracle.toy_backbone import ToyBackbone
from tsgen.constrain.constraint import Int
from tsgen.constrain.trie import Float, SequenceTrie, TrieFrontier
from tsgen.decode.beam import LookAhead
from tsgen.decode.search import LookAheadOf, search
from tsgen.settings import DecodeConfig

ROWS = [[0, 1], [0, 2], [1, 0], [1, 3], [2, 2], [3, 1]]
DOCUMENTS = len(ROWS)


def look_ahead_of(trie: SequenceTrie, values: dict[str, np.ndarray]) -> LookAheadOf:
    def of(queries: Sequence[str]) -> LookAhead:
        prior = np.stack([values[query] for query in queries])

        def ahead(frontier: TrieFrontier, query: Int) -> Float:
            return trie.best(frontier, query, prior)

        return ahead

    return of


def test_what_is_ahead_keeps_a_prefix_that_would_be_pruned() -> None:
    """With a beam of one, the search goes where the prior says, whichever document that is, and
    each query of a batch goes its own way."""
    trie, backbone = SequenceTrie(ragged(ROWS)), ToyBackbone(4)
    queries = [f"q{number}" for number in range(DOCUMENTS)]
    priors = {q: 100.0 * np.eye(DOCUMENTS, dtype=np.float32)[i] for i, q in enumerate(queries)}
    config = DecodeConfig(beam=1, compared=6)
    guided = search(backbone, trie, queries, 1, config, look_ahead_of=look_ahead_of(trie, priors))
    assert [hits[0].document for hits in guided] == list(range(DOCUMENTS))
    plain = search(backbone, trie, queries, 1, config)
    assert [hits[0].document for hits in plain] != list(range(DOCUMENTS))
    scores = {hit.document: hit.score for hit in search(backbone, trie, ["q3"], 9)[0]}
    assert guided[3][0].score == scores[3]  # what is ahead chooses, it does not score


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=9),
    st.integers(0, 99),
)
def test_best_value_ahead_by_brute_force(rows: list[list[int]], seed: int) -> None:
    trie = SequenceTrie(ragged(rows))
    values = np.random.default_rng(seed).normal(size=(2, len(rows))).astype(np.float32)
    query, frontier = np.array([0, 1]), trie.start(2)
    prefixes: list[list[int]] = [[], []]
    while len(query):
        expected = [
            max(values[q, d] for d, row in enumerate(rows) if row[: len(prefix)] == prefix)
            for q, prefix in zip(query, prefixes, strict=True)
        ]
        assert trie.best(frontier, query, values).tolist() == [float(value) for value in expected]
        cursor = trie.cursor(frontier, np.arange(len(query)))
        allowed = trie.allowed(frontier, cursor)
        counts = allowed.ends - allowed.starts
        picks = np.repeat(np.arange(len(query)), counts)
        entries = np.concatenate(
            [np.arange(a, b) for a, b in zip(allowed.starts, allowed.ends, strict=True)]
        ).astype(np.int64)
        tokens = allowed.tokens[entries].tolist()
        prefixes = [[*prefixes[p], t] for p, t in zip(picks.tolist(), tokens, strict=True)]
        query = query[picks]
        frontier = trie.close(frontier, allowed.follow(cursor, picks, entries))
