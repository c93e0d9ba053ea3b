"""The local writer learns to ask for documents; interrupted, it ends in the same queries."""

from pathlib import Path

import numpy as np
import pytest
import torch

from fitted import FOODS, write_bert, write_foods
from tiny import Tiny
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.records import Document
from tsgen.settings import LocalConfig, QueriesConfig
from tsgen.synthetic.local_writer import CopyingWriter, Sampler, frequent_tokens, train_writer
from tsgen.synthetic.writing import QUERIES, make_queries
from tsgen.training_loop import CHECKPOINT


@pytest.fixture(scope="module")
def foods(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    return load(write_foods(tmp_path_factory.mktemp("set") / "foods", "train", "dev"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(autouse=True)
def few_frequent_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of twenty short queries' tokens are fewer than are frequent in a real set."""
    monkeypatch.setattr("tsgen.synthetic.local_writer.FREQUENT", 2)


def settings(bert: Path, epochs: int = 120) -> LocalConfig:
    return LocalConfig(
        encoder=str(bert),
        encoder_layers=1,
        layers=1,
        heads=4,
        document_tokens=24,
        query_tokens=8,
        batch_size=10,
        epochs=epochs,
        learning_rate=1e-2,
        encoder_learning_rate=1e-2,
        validate_every=20,
        patience=9,
        top_k=1,
    )


def test_it_learns_to_ask(foods: DataSet, bert: Path, tmp_path: Path) -> None:
    config = settings(bert)
    writer = train_writer(foods, config, 0, tmp_path)
    documents = list(foods.documents())
    found = Sampler(writer, 8, top_k=1, temperature=1.0).write(documents, 1, seed=0)
    right = sum(query.endswith(food) for (query,), food in zip(found, FOODS, strict=True))
    assert right >= 15
    assert sum(query.startswith("what is") for (query,) in found) >= 15


def test_interrupted_it_ends_the_same(foods: DataSet, bert: Path, tmp_path: Path) -> None:
    options = settings(bert, epochs=20).model_dump()
    config = QueriesConfig(writer="local", n=2, options=options)
    expected = (make_queries(foods, config, 0, tmp_path / "a") / QUERIES).read_bytes()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tsgen.synthetic.local_writer.shown", lambda _: _interrupt)
        with pytest.raises(KeyboardInterrupt):
            make_queries(foods, config, 0, tmp_path / "b")
    assert list(tmp_path.glob(f"b/.written-*.partial/{CHECKPOINT}"))
    assert (make_queries(foods, config, 0, tmp_path / "b") / QUERIES).read_bytes() == expected
    assert not list(tmp_path.rglob(CHECKPOINT))


def _interrupt(step: int, steps: int, loss: float | None, figure: float | None) -> None:
    if step == 25:
        raise KeyboardInterrupt


@pytest.mark.parametrize("family", ["mini", "t5", "llama"])
def test_only_words_of_the_document_or_frequent_ones(family: str) -> None:
    torch.manual_seed(0)
    tiny = Tiny([f"w{n}" for n in range(20)])
    backbone = getattr(tiny, family)()
    frequent = backbone.tokenizer.convert_tokens_to_ids(["w7"])
    writer = CopyingWriter(backbone, np.array(frequent), document_tokens=4)
    sampler = Sampler(writer, tokens=6, top_k=20, temperature=5.0)
    documents = [Document("a", "w1 w2 w3 w4 w19"), Document("b", "w5")]
    found = sampler.write(documents, 8, seed=0)
    assert {word for query in found[0] for word in query.split()} == {"w1", "w2", "w3", "w4", "w7"}
    assert {word for query in found[1] for word in query.split()} == {"w5", "w7"}
    assert sampler.write(documents[1:], 8, seed=0) == found[1:]
    assert sampler.write(documents[1:], 8, seed=1) != found[1:]


def test_loss_is_that_of_the_tokens_that_can_be_written() -> None:
    torch.manual_seed(0)
    backbone = Tiny([f"w{n}" for n in range(6)]).t5()
    ids = backbone.tokenizer.convert_tokens_to_ids
    writer = CopyingWriter(backbone, np.array(ids(["w0"])), document_tokens=8)
    a, other = ids(["w1", "w5"])
    loss = writer.loss(["w1 w2"], [[a, other]])
    end = writer.end
    scores = backbone(["w1 w2"], torch.tensor([[a, other, end]]))[0]  # [3, V]
    symbols = [*ids(["w0", "w1", "w2"]), end]
    weighed = scores[:, symbols] + writer.bonus * torch.tensor([0.0, 1.0, 1.0, 0.0])
    log_p = weighed.log_softmax(dim=1)
    torch.testing.assert_close(loss, -(log_p[0, 1] + log_p[2, 3]) / 2)


def test_frequent_tokens() -> None:
    queries = [np.array([5, 3]), np.array([3, 9, 9]), np.array([9])]
    assert frequent_tokens(queries, 2).tolist() == [3, 9]
    assert frequent_tokens([], 2).tolist() == []
