"""The same terms as a sequence: a setting of the search."""

from pathlib import Path

import numpy as np
import pytest

from small_engine import QUERY, TEXTS, term_set, write_small_engine
from tsgen.constrain.constraint import Ragged
from tsgen.constrain.trie import SequenceTrie
from tsgen.decode.search import search
from tsgen.errors import ConfigError
from tsgen.retrieve.engine import Engine
from tsgen.settings import DecodeConfig

PLAIN = {"normalise": "docid", "merge": "max"}  # every term is generated


def test_terms_come_by_weight(tmp_path: Path) -> None:
    engine = Engine.load(write_small_engine(tmp_path / "engine", in_order=True, **PLAIN))
    (hits,) = engine.search([QUERY], 3)
    assert hits
    for hit in hits:
        assert hit.reason is not None
        assert hit.reason.terms == term_set(hit.document_id).terms
    as_set = Engine.load(write_small_engine(tmp_path / "set", **PLAIN))
    orders = [hit.reason.terms for hit in as_set.search([QUERY], 3)[0] if hit.reason]
    assert any(order != term_set(id).terms for order, id in zip(orders, TEXTS, strict=False))


def test_a_sequence_loses_what_the_set_finds(tmp_path: Path) -> None:
    """`cheese` is a late term of onion soup: no sequence can begin with it."""
    found = {}
    for in_order in (False, True):
        folder = tmp_path / f"{in_order}"
        engine = Engine.load(write_small_engine(folder, beam=1, in_order=in_order))
        found[in_order] = [hit.document_id for hit in engine.search(["cheese"], 1)[0]]
    assert found[False] == ["soup/onion.md"]
    assert found[True] != found[False]


def test_rescoring_is_the_same(tmp_path: Path) -> None:
    folder = write_small_engine(tmp_path / "engine", in_order=True, prior_weight=2.0)
    (hits,) = Engine.load(folder).search([QUERY], 3)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_sequences_have_no_sets(tmp_path: Path) -> None:
    engine = Engine.load(write_small_engine(tmp_path / "engine"))
    trie = SequenceTrie(Ragged(np.array([0, 2]), np.array([1, 2], np.int32)))
    with pytest.raises(ConfigError, match="`in_order` need term sets"):
        search(engine.generator.backbone, trie, ["bread"], 1, DecodeConfig(in_order=True))
