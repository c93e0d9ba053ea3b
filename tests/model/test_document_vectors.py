"""Documents read into vectors: short ones whole, long ones passage by passage."""

from pathlib import Path

import numpy as np
import pytest

import fitted
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.in_memory import data_set_of
from tsgen.model.document_vectors import read_documents, read_passages, read_vectors
from tsgen.model.term_vectors import TermVectors
from tsgen.records import Document
from tsgen.settings import ModelConfig
from tsgen.terms.passages import in_8_bits, passage_texts
from tsgen.terms.sentence_vectors import sentence_vectors

WINDOW = 16
LONG = Document("long", " ".join(f"{food} and the rest" for food in fitted.FOODS * 5), "Foods")
SHORT = [Document(f"d{i}", f"what is {food}") for i, food in enumerate(fitted.FOODS)]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> ModelConfig:
    bert = fitted.write_bert(tmp_path_factory.mktemp("bert"))
    return ModelConfig(backbone="term-vectors", encoder=str(bert), document_tokens=WINDOW)


@pytest.fixture(scope="module")
def backbone(config: ModelConfig) -> TermVectors:
    return TermVectors.create(config, [])


@pytest.fixture(scope="module")
def data() -> DataSet:
    return data_set_of([*SHORT[:3], LONG, *SHORT[3:]])


def test_the_beginnings_are_what_the_encoder_reads_of_each_document(
    data: DataSet, config: ModelConfig, backbone: TermVectors, tmp_path: Path
) -> None:
    found = read_passages(data, config, backbone, tmp_path)
    contents = [one.contents for one in data.documents()]
    alone = sentence_vectors(backbone.encoder, backbone.tokenizer, contents, WINDOW)
    firsts = found.values[found.offsets[:-1]]
    kept = read_vectors(data, config, backbone, tmp_path).whole
    read = backbone.document_vectors(contents).whole
    np.testing.assert_array_equal(kept, read.astype(np.float16))
    np.testing.assert_allclose(kept, alone, atol=1e-3)
    np.testing.assert_array_equal(firsts, in_8_bits(kept))


def test_only_what_is_longer_than_the_window_has_passages(
    data: DataSet, config: ModelConfig, backbone: TermVectors, tmp_path: Path
) -> None:
    found = read_passages(data, config, backbone, tmp_path)
    texts = passage_texts(LONG)
    counts = found.passages.tolist()
    assert counts == [1, 1, 1, 1 + len(texts), *([1] * (len(SHORT) - 3))]
    read = sentence_vectors(backbone.encoder, backbone.tokenizer, texts, WINDOW)
    np.testing.assert_allclose(found.row(3)[1 : 1 + len(texts)], in_8_bits(read), atol=1)


def test_the_window_is_counted_in_tokens_with_those_at_both_ends(backbone: TermVectors) -> None:
    fits, longer = " ".join(["egg"] * (WINDOW - 2)), " ".join(["egg"] * (WINDOW - 1))
    ends = len(backbone.tokenizer("egg")["input_ids"]) - 1
    assert ends in (0, 2)
    if not ends:  # a tokenizer that adds none
        fits, longer = fits + " egg egg", longer + " egg egg"
    assert backbone.longer_than_window([fits, longer, ""]).tolist() == [False, True, False]


def test_documents_added_later_are_read_as_those_of_a_data_set(
    data: DataSet, config: ModelConfig, backbone: TermVectors, tmp_path: Path
) -> None:
    together = read_passages(data, config, backbone, tmp_path)
    for number, document in enumerate(data.documents()):
        alone = read_documents([document], backbone)
        assert alone is not None
        assert alone.passages[0] == together.passages[number]
        np.testing.assert_allclose(alone.row(0), together.row(number), atol=1)


def test_without_passages_the_beginning_is_all(
    data: DataSet, config: ModelConfig, tmp_path: Path
) -> None:
    config = config.model_copy(update={"passages": False})
    backbone = TermVectors.create(config, [])
    found = read_passages(data, config, backbone, tmp_path)
    assert np.all(found.passages == 1)
    assert not backbone.longer_than_window([LONG.text]).any()
