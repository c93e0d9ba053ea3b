"""All n-grams of a corpus, by hand and against a scan."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import ngrams as slow
from oracle.decoding import ragged
from oracle.toy_backbone import ToyBackbone
from tsgen.baselines._ngrams import Collector
from tsgen.constrain.ngrams import SubstringConstraint, Suffixes
from tsgen.decode.search import search
from tsgen.errors import ConfigError
from tsgen.settings import DecodeConfig

TOKENS = 5
pieces = st.lists(st.lists(st.integers(0, TOKENS - 1), max_size=9), min_size=1, max_size=6)
many = settings(max_examples=150, deadline=None, derandomize=True)


def suffixes(rows: list[list[int]]) -> Suffixes:
    """Two pieces a document."""
    return Suffixes.build(ragged(rows), [i // 2 for i in range(len(rows))])


def test_by_hand() -> None:
    found = suffixes([[1, 2, 1, 2, 3], [2], [1, 2]])
    assert (len(found), found.alphabet.tolist()) == (8, [1, 2, 3])
    assert (found.count([1, 2]), found.count([2, 1]), found.count([3, 2])) == (3, 1, 0)
    assert found.following([1, 2]).tolist() == [1, 3]  # not 2: the next piece is another text
    assert found.documents([2]).tolist() == [0, 1]
    assert found.documents([3]).tolist() == [0]


@many
@given(pieces, st.lists(st.lists(st.integers(0, TOKENS), max_size=4), max_size=8))
def test_agrees_with_a_scan(rows: list[list[int]], asked: list[list[int]]) -> None:
    found = suffixes(rows)
    low, high = found.find(ragged(asked))
    for ngram, count in zip(asked, (high - low).tolist(), strict=True):
        if not ngram:
            continue
        places = slow.places(rows, tuple(ngram))
        assert count == found.count(ngram) == len(places)
        assert found.following(ngram).tolist() == slow.following(rows, tuple(ngram))
        assert found.documents(ngram).tolist() == sorted({piece // 2 for piece, _ in places})


@many
@given(pieces, st.integers(1, 4))
def test_a_wide_beam_meets_every_ngram(rows: list[list[int]], longest: int) -> None:
    found, backbone = suffixes(rows), ToyBackbone(TOKENS)
    queries, collector = ["one", "two", "three"], Collector()
    config = DecodeConfig(beam=1000, batch=2)
    constraint = SubstringConstraint(found, longest)
    assert search(backbone, constraint, queries, 5, config, observer=collector) == [[], [], []]
    expected = slow.every(rows, longest)
    if not expected:
        return
    for query, kept in zip(queries, collector.kept(), strict=True):
        ends = zip(found.suffixes[kept.low], kept.depth, strict=True)
        met = [tuple(found.text[begin : begin + size].tolist()) for begin, size in ends]
        assert sorted(met) == expected
        for ngram, count, score in zip(met, kept.high - kept.low, kept.score, strict=True):
            assert count == len(slow.places(rows, ngram))
            assert score == pytest.approx(log_prob(backbone, query, ngram), abs=1e-4)


def log_prob(backbone: ToyBackbone, query: str, ngram: slow.Ngram) -> float:
    total = 0.0
    for i, token in enumerate(ngram):
        logits = backbone.row(query, ngram[:i]).astype(np.float64)
        total += logits[token] - np.log(np.exp(logits).sum())
    return total


def test_one_document_left() -> None:
    constraint = SubstringConstraint(suffixes([[1, 2, 3], [], [1, 2]]))
    frontier = constraint.start(1)
    for token, document in ((1, -1), (2, 0)):  # after 1 2 only the first document goes on
        cursor = constraint.cursor(frontier, np.array([0]))
        entry = constraint.allowed(frontier, cursor).tokens.tolist().index(token)
        cursor = constraint.allowed(frontier, cursor).follow(
            cursor, np.array([0]), np.array([entry])
        )
        frontier = constraint.close(frontier, cursor)
        assert constraint.decided(frontier, np.array([0])).tolist() == [document]


def test_a_pool_is_refused() -> None:
    with pytest.raises(ConfigError, match="whole corpus"):
        SubstringConstraint(suffixes([[1]])).start(1, ragged([[0]]))


def test_saved(tmp_path: Path) -> None:
    found = suffixes([[1, 2, 1], [3]])
    found.save(tmp_path / "suffixes")
    again = Suffixes.load(tmp_path / "suffixes")
    assert again.nbytes == found.nbytes
    assert again.following([1]).tolist() == [2]
