"""Vectors of sentences, from the states of the tokens of the whole text."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fitted
from tsgen.terms.encoder import load_encoder
from tsgen.terms.sentence_vectors import text_vectors
from tsgen.terms.sentences import SHORTEST, sentence_starts, sentence_vectors_of
from tsgen.terms.text_encoder import OnnxEncoder

TEXT = st.text("ab c.!?:;\n。", max_size=200)


@given(TEXT)
def test_sentences_cover_a_text_and_are_not_short(text: str) -> None:
    starts = sentence_starts(text)
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    ends = [*starts[1:], len(text)]
    if len(starts) > 1:
        assert all(end - start >= SHORTEST for start, end in zip(starts, ends, strict=True))


def test_where_sentences_begin() -> None:
    text = "The first sentence is here. And the second one, too: with a third part of it\n"
    text += "A line that has no end"
    parts = [text[start:] for start in sentence_starts(text)]
    assert [part.split()[0] for part in parts] == ["The", "And", "with", "A"]
    assert sentence_starts("Short. Also short. Tiny.") == [0]


def test_a_sentence_is_the_mean_of_its_tokens() -> None:
    text = "aaaa bbbb cccc dddd eeee. ffff gggg hhhh iiii jjjj"
    words = [(i * 5 + (i > 4), i * 5 + (i > 4) + 4) for i in range(10)]
    places = np.array([(0, 0), *words, (0, 0)])
    states = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    found = sentence_vectors_of(text, places, states)
    means = [states[1:6].mean(axis=0), states[6:11].mean(axis=0)]
    np.testing.assert_allclose(found, [x / np.linalg.norm(x) for x in means], rtol=1e-5)
    assert len(sentence_vectors_of("aaaa bbbb cccc dddd eeee.", places[:6], states[:6])) == 0
    assert len(sentence_vectors_of(text, places[:7], states[:7])) == 0  # one token of the second


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fitted.write_bert(tmp_path_factory.mktemp("bert"))


def test_the_graph_reads_what_torch_reads(bert: Path) -> None:
    encoder, tokenizer = load_encoder(str(bert))
    foods = [f"what is {food} with the rest of it" for food in fitted.FOODS]
    texts = ["egg", foods[0], ". ".join(foods[:3]), "\n".join(foods[3:9]), foods[2]]
    graph = OnnxEncoder.of(encoder.eval(), tokenizer, "float32")
    assert graph is not None
    mine, torch = graph.text_vectors(texts, 40), text_vectors(encoder, tokenizer, texts, 40)
    assert mine.counts.tolist() == torch.counts.tolist()
    assert mine.counts.max() > 2
    np.testing.assert_allclose(mine.whole, torch.whole, atol=1e-4)
    np.testing.assert_allclose(mine.sentences, torch.sentences, atol=1e-4)
    np.testing.assert_allclose(mine.whole, graph.vectors(texts, 40), atol=1e-4)
