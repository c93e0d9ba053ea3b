"""The case study: one document, several queries, each with its order."""

import numpy as np
import pytest

from fitted import settings, write_bert, write_foods
from tsgen.config import read_settings
from tsgen.corpus.load import load
from tsgen.decode.log_probs import log_likelihoods
from tsgen.errors import DataError
from tsgen.retrieve.build import engine_config, fit_engine
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.explain import explain

QUERIES = ["what is sour rice", "rice", "with jam and fish"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("explain")
    data = load(write_foods(folder / "set", "train", "dev"))
    changes = [*settings(write_bert(folder / "bert"), epochs=5), "train.iterations=1"]
    config = engine_config(read_settings(None, changes, "tiny"))
    fit_engine(data, config, folder / "engine", cache=folder / "cache")
    return Engine.load(folder / "engine")


def test_orders_and_likelihoods(engine: Engine) -> None:
    found = explain(engine, "d3", QUERIES)
    assert [one.query for one in found] == QUERIES
    generator, by_weight = engine.generator, engine.generator.sets.term_set(3).terms
    for one in found:
        assert sorted(one.terms) == sorted(by_weight)
        assert sum(one.log_probs) == pytest.approx(one.log_prob, abs=1e-4)
        assert max(one.log_probs) <= 1e-4
        assert one.log_prob >= one.by_weight - 1e-4
        sequence = generator.constraint.spelling.sequence(generator.sets.terms(3))
        alone = log_likelihoods(
            generator.backbone,
            [one.query],
            np.array([0]),
            [sequence],
            generator.constraint.alphabet,
        )
        assert one.by_weight == pytest.approx(alone[0], abs=1e-4)


def test_at_least_the_weight_order_for_every_document(engine: Engine) -> None:
    for number in range(20):
        for one in explain(engine, f"d{number}", QUERIES):
            assert one.log_prob >= one.by_weight - 1e-4


def test_unknown_document(engine: Engine) -> None:
    with pytest.raises(DataError, match=r"'d99': no such document.*'d0'|'d9'.*tsgen search"):
        explain(engine, "d99", QUERIES)
