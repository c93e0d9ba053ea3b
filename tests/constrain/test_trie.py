"""Sequences as DocIDs, by hand and against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.decoding import ragged
from oracle.toy_backbone import ToyBackbone
from tsgen.constrain.constraint import Cursor, Ragged
from tsgen.constrain.trie import SequenceTrie, TrieFrontier
from tsgen.decode.search import search
from tsgen.errors import ConfigError
from tsgen.settings import DecodeConfig

END, TOKENS = 4, 6
sequences = st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=8)


def read(trie: SequenceTrie, frontier: TrieFrontier, token: int) -> TrieFrontier:
    """One row continued by a token that closes its unit."""
    cursor = trie.cursor(frontier, np.array([0]))
    allowed = trie.allowed(frontier, cursor)
    entry = np.array([allowed.tokens.tolist().index(token)])
    assert allowed.closes[entry].all()
    return trie.close(frontier, allowed.follow(cursor, np.array([0]), entry))


def start(trie: SequenceTrie, frontier: TrieFrontier) -> tuple[Cursor, list[int]]:
    cursor = trie.cursor(frontier, np.array([0]))
    return cursor, trie.allowed(frontier, cursor).tokens.tolist()


def test_prefixes_by_hand() -> None:
    trie = SequenceTrie(ragged([[1, 2], [1], [1, 2], [0]]))
    frontier = trie.start(1)
    assert start(trie, frontier)[1] == [0, 1]
    frontier = read(trie, frontier, 1)
    assert trie.valid(frontier).tolist() == [3]
    assert trie.completed(frontier).row(0).tolist() == [1]
    assert start(trie, frontier)[1] == [2]
    frontier = read(trie, frontier, 2)
    assert trie.completed(frontier).row(0).tolist() == [0, 2]
    assert start(trie, frontier)[1] == []
    assert (trie.longest, trie.alphabet.tolist()) == (2, [0, 1, 2])
    assert [trie.ends(n) for n in range(4)] == [False, True, True, False]


def test_an_end_token_is_a_unit_of_its_own() -> None:
    trie = SequenceTrie(ragged([[1, 2], [1]]), end=0)
    frontier = read(trie, trie.start(1), 1)
    assert trie.completed(frontier).row(0).tolist() == []
    assert start(trie, frontier)[1] == [0, 2]
    frontier = read(trie, frontier, 0)
    assert trie.completed(frontier).row(0).tolist() == [1]


def test_terms_in_a_fixed_order() -> None:
    labels = ragged([[7, 8], [7, 9]])
    trie = SequenceTrie(ragged([[1, 2, 5, 3, 5], [1, 2, 5, 4, 5]]), terminator=5, labels=labels)
    assert (trie.longest, trie.ends(1), trie.ends(2)) == (2, False, True)
    found = search(ToyBackbone(6), trie, ["q"], 2, DecodeConfig(beam=2))[0]
    assert {hit.document: hit.units for hit in found} == {0: (7, 8), 1: (7, 9)}
    assert {hit.valid_documents for hit in found} == {(2, 1)}


def test_a_unit_without_its_terminator_is_refused() -> None:
    with pytest.raises(ConfigError, match="terminator 5"):
        SequenceTrie(ragged([[1, 5], [2]]), terminator=5)


def log_prob(backbone: ToyBackbone, sequence: list[int]) -> float:
    total = 0.0
    for i, token in enumerate(sequence):
        logits = backbone.row("q", tuple(sequence[:i])).astype(np.float64)
        total += logits[token] - np.log(np.exp(logits).sum())
    return total


@settings(max_examples=100, deadline=None)
@given(sequences, st.sampled_from([None, END]), st.data())
def test_wide_beam_equals_brute_force(
    rows: list[list[int]], end: int | None, data: st.DataObject
) -> None:
    rows = [row or [3] for row in rows]
    pool = sorted(data.draw(st.sets(st.integers(0, len(rows) - 1), min_size=1)))
    limit: Ragged | None = ragged([pool]) if data.draw(st.booleans()) else None
    backbone = ToyBackbone(TOKENS)
    merge = data.draw(st.sampled_from(["max", "none"]))
    config = DecodeConfig(beam=40, merge=merge, normalise="full")
    found = search(backbone, SequenceTrie(ragged(rows), end=end), ["q"], 20, config, limit)[0]
    asked = pool if limit else range(len(rows))
    whole = {d: rows[d] + ([] if end is None else [end]) for d in asked}
    expected = {d: log_prob(backbone, row) for d, row in whole.items()}
    assert [hit.document for hit in found] == sorted(expected, key=lambda d: (-expected[d], d))
    for hit in found:
        assert hit.score == pytest.approx(expected[hit.document], abs=1e-4)
        assert hit.units == tuple(whole[hit.document])
