"""The encoder without torch, beside the one with it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, BertModel, DistilBertConfig, DistilBertModel

import fitted
from tsgen.errors import ArtifactError
from tsgen.terms.encoder import load_encoder
from tsgen.terms.onnx_graph import BLOCK, FORMATS, MIDDLE, blocks_of
from tsgen.terms.sentence_vectors import longer_than, sentence_vectors
from tsgen.terms.text_encoder import GRAPH, OnnxEncoder

WORDS = [*fitted.FOODS, *fitted.TASTES, "unknown", "what is", "zabaglione"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join), max_size=9)
CLOSE = {"float32": 0.999999, "blocks": 0.999, "int8": 0.99}  # cosines with what torch computes


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> tuple[BertModel, object]:
    folder = fitted.write_bert(tmp_path_factory.mktemp("bert"))
    encoder, tokenizer = load_encoder(str(folder))
    with torch.no_grad():  # biases and norms that are not what they start as
        for name, value in encoder.named_parameters():
            if "bias" in name or "Norm" in name:
                value.add_(torch.randn_like(value) * 0.1)
    return encoder.eval(), tokenizer


@pytest.fixture(scope="module", params=FORMATS)
def encoder(request: pytest.FixtureRequest, oracle: tuple[BertModel, object]) -> OnnxEncoder:
    found = OnnxEncoder.of(*oracle, request.param)
    assert found is not None
    found.form = request.param
    return found


@settings(max_examples=20, deadline=None)
@given(texts=TEXTS, window=st.integers(3, 20))
def test_it_reads_as_torch_does(
    oracle: tuple[BertModel, object], encoder: OnnxEncoder, texts: list[str], window: int
) -> None:
    texts = [f"bread {text}" for text in texts]  # torch makes a vector of no tokens not a number
    wanted = sentence_vectors(*oracle, texts, window)
    found = encoder.vectors(texts, window)
    assert found.shape == wanted.shape
    assert np.all((found * wanted).sum(axis=1) > CLOSE[encoder.form])
    np.testing.assert_array_equal(
        encoder.longer_than(texts, window), longer_than(oracle[1], texts, window)
    )


@pytest.mark.parametrize("form", ["float32", "blocks"])
def test_a_vector_does_not_depend_on_the_other_texts(
    oracle: tuple[BertModel, object], form: str
) -> None:
    encoder = OnnxEncoder.of(*oracle, form)
    assert encoder is not None
    texts = ["bread", "sweet egg with milk and honey", " ".join(fitted.FOODS)] * 30
    together = encoder.vectors(texts, 32)
    alone = np.concatenate([encoder.vectors([text], 32) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_what_is_saved_is_opened_again(oracle: tuple[BertModel, object], tmp_path: Path) -> None:
    encoder = OnnxEncoder.of(*oracle, "blocks")
    assert encoder is not None
    encoder.save(tmp_path)
    again = OnnxEncoder.open(tmp_path)
    assert again is not None
    texts = ["sweet egg", "rice"]
    np.testing.assert_array_equal(again.vectors(texts, 16), encoder.vectors(texts, 16))
    assert again.whole_words >= set(fitted.FOODS)
    assert OnnxEncoder.open(tmp_path / "elsewhere") is None


def test_damage_is_named(oracle: tuple[BertModel, object], tmp_path: Path) -> None:
    encoder = OnnxEncoder.of(*oracle, "blocks")
    assert encoder is not None
    encoder.save(tmp_path)
    (tmp_path / GRAPH).write_bytes((tmp_path / GRAPH).read_bytes()[:1000])
    damaged = OnnxEncoder.open(tmp_path)
    assert damaged is not None
    with pytest.raises(ArtifactError, match="cannot open the encoder"):
        damaged.vectors(["rice"], 16)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 80), st.integers(0, 99))
def test_blocks_are_off_by_half_a_step_at_the_most(rows: int, inputs: int, seed: int) -> None:
    weight = np.random.default_rng(seed).normal(size=(rows, inputs)).astype(np.float32)
    values, scales = blocks_of(weight)
    back = (values.astype(np.float32) - MIDDLE) * scales[:, :, None]
    back = back.reshape(rows, -1)
    step = np.repeat(scales, BLOCK, axis=1)
    assert np.all(np.abs(back[:, :inputs] - weight) <= 0.5001 * step[:, :inputs])
    assert not back[:, inputs:].any()


def test_other_kinds_of_encoders_are_left_to_torch(tmp_path: Path) -> None:
    folder = fitted.write_bert(tmp_path)
    other = DistilBertModel(DistilBertConfig(vocab_size=50, dim=32, n_layers=1, n_heads=4))
    assert OnnxEncoder.of(other, AutoTokenizer.from_pretrained(folder), "blocks") is None
