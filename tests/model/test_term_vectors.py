"""The generator that learns a collection while it is indexed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import fitted
import tsgen
import tsgen.retrieve.explain
from tsgen.constrain.constraint import Ragged
from tsgen.errors import ConfigError
from tsgen.model.term_vectors import RIDGE, TermVectors, solve
from tsgen.reciprocal_rank import mean_reciprocal_rank
from tsgen.settings import DecodeConfig, EngineConfig, IndexConfig, ModelConfig, TermsConfig
from tsgen.train.loop import FACTORS

VECTORS = {"terms": {"weights": "tfidf", "n": 8}}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fitted.write_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fitted.write_foods(tmp_path_factory.mktemp("foods"), "train", "dev")


@pytest.fixture(scope="module")
def engine(bert: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> tsgen.Engine:
    out = tmp_path_factory.mktemp("runs") / "engine"
    return tsgen.index(data, out=out, settings=VECTORS | {"model": {"encoder": str(bert)}})


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_term_vectors_are_those_of_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    documents, terms, width = rng.integers(2, 8), rng.integers(1, 12), 5
    rows = [np.sort(rng.permutation(terms)[: rng.integers(1, terms + 1)]) for _ in range(documents)]
    offsets = np.cumsum([0, *map(len, rows)])
    sets = Ragged(offsets, np.concatenate(rows).astype(np.int32))
    shares = np.concatenate([rng.dirichlet(np.ones(len(row))) for row in rows]).astype(np.float32)
    vectors = rng.normal(size=(documents, width)).astype(np.float32)

    weights = np.zeros((documents, terms))
    for d, row in enumerate(rows):
        weights[d, row] = np.sqrt(shares[offsets[d] : offsets[d + 1]])
    centred = vectors - vectors.mean(axis=0)
    gram = weights.T @ weights + RIDGE * np.eye(terms)
    wanted = np.linalg.solve(gram, weights.T @ centred)

    found = solve(sets, shares, vectors, int(terms))
    np.testing.assert_allclose(found, wanted, atol=0.02 * (1 + np.abs(wanted).max()))


def test_a_document_is_found_by_its_own_text(engine: tsgen.Engine) -> None:
    for document in engine:
        assert engine.search(document.contents, k=1)[0].document_id == document.id


def test_a_search_needs_no_beam_where_its_probability_does_not_count(engine: tsgen.Engine) -> None:
    query, found = "what is sweet egg", engine.search("what is sweet egg", k=5)
    traced = tsgen.retrieve.explain.trace(engine, query, 5)  # shows the beams, so it has them
    assert [hit.document_id for hit in traced.hits] == [hit.document_id for hit in found]
    np.testing.assert_allclose(
        [hit.score for hit in traced.hits], [hit.score for hit in found], rtol=1e-3
    )
    for hit in found:
        assert hit.reason is not None
        assert hit.reason.valid_documents[-1] >= 1


def test_all_orders_of_a_prefix_have_one_state(engine: tsgen.Engine) -> None:
    backbone = engine.generator.backbone
    cache, start, hidden = backbone.encode(["sweet egg"])
    first, one = backbone.step(cache, start.repeat(2), torch.tensor([0, 1]))
    _, both = backbone.step(cache, first, torch.tensor([1, 0]))
    assert torch.equal(one, hidden.repeat(2, 1))
    assert torch.equal(both[0], both[1])


def test_what_is_added_is_found_at_once_and_after_compaction(
    engine: tsgen.Engine, tmp_path: Path
) -> None:
    engine.save(tmp_path)
    other = tsgen.Engine.load(tmp_path)
    text = "The sweet zabaglione is a food. With it go egg and sugar."
    other.add([{"id": "new", "text": text}])
    assert other.search(text, k=1)[0].document_id == "new"
    before = [(hit.document_id, round(hit.score, 3)) for hit in other.search("sweet sugar", k=5)]
    other.compact()
    again = tsgen.Engine.load(tmp_path)
    assert [(h.document_id, round(h.score, 3)) for h in again.search("sweet sugar", k=5)] == before
    assert again.search(text, k=1)[0].document_id == "new"
    term = again.generator.sets.term_id("zabaglione")
    assert again.generator.backbone.vectors[term].norm() > 0  # learned with all the others


def test_fit_goes_on_from_what_was_learned(bert: Path, data: Path, tmp_path: Path) -> None:
    training = {"epochs": 30, "learning_rate": 1e-2, "validate_every": 10, "batch_size": 20}
    training |= {"lexical_weight": 0.0, "validation": {"lexical_weight": 0.0}}
    tables = VECTORS | {"model": {"encoder": str(bert)}, "decode": {"lexical_weight": 0.0}}
    before = tsgen.index(data, settings=tables)
    tables |= {"train": training}
    after = tsgen.fit(data, out=tmp_path / "engine", settings=tables, cache=tmp_path / "cache")
    loaded = tsgen.load(data)
    queries = loaded.queries()
    judged = {queries[q].text: set(documents) for q, documents in loaded.judgments("dev").items()}

    def right(engine: tsgen.Engine) -> int:
        found = engine.search(list(judged), k=1)
        return sum(hits[0].document_id in judged[q] for q, hits in zip(judged, found, strict=True))

    assert right(after) > right(before)
    vectors = [engine.generator.sets.doc_vectors.values for engine in (before, after)]
    np.testing.assert_array_equal(*vectors)  # documents stay where they were
    text = "The smoked eel is a food. With it go salt and oats."
    for engine in (before, after):
        engine.add([{"id": "eel", "text": text}])
    added = [engine.generator.sets.doc_vectors.values[-1] for engine in (before, after)]
    np.testing.assert_array_equal(*added)  # and are read as they were


def test_the_weight_of_the_query_s_words_is_chosen_on_validation_queries(
    bert: Path, data: Path, tmp_path: Path
) -> None:
    train = {"epochs": 0, "validation": {"lexical_weight": 0.03}}
    tables = VECTORS | {"model": {"encoder": str(bert)}, "train": train}
    engine = tsgen.fit(data, out=tmp_path / "engine", settings=tables, cache=tmp_path / "cache")
    chosen = engine.config.decode.lexical_weight
    loaded = tsgen.load(data)
    queries = [query.text for query in loaded.queries().values()]
    answers = [set(documents) for documents in loaded.judgments("dev").values()]

    def figure(weight: float) -> float:
        decode = engine.config.decode.model_copy(update={"lexical_weight": weight})
        found = replace(
            engine.snapshot, config=EngineConfig(model=engine.config.model, decode=decode)
        ).search(queries, 10)
        ids = [[hit.document_id for hit in hits] for hits in found]
        return mean_reciprocal_rank(ids, answers)

    figures = {factor * 0.03: figure(factor * 0.03) for factor in FACTORS}
    assert chosen == pytest.approx(max(figures, key=figures.__getitem__))
    assert len({*figures.values()}) > 1  # there was something to choose


def test_settings_that_need_vectors_are_refused_without() -> None:
    decode = DecodeConfig(prior="vectors", prior_weight=20.0)
    with pytest.raises(ValueError, match="term-vectors"):
        IndexConfig(terms=TermsConfig(weights="tfidf"), decode=decode)


def test_pieces_cannot_be_written() -> None:
    with pytest.raises(ConfigError, match="writes words"):
        TermVectors.create(ModelConfig(backbone="term-vectors"), None)
