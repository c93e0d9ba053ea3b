"""docT5query fine-tuned on the data set's own pairs, as the paper does: a tiny T5 learns them."""

from pathlib import Path

import pytest
import torch

from fitted import FOODS, TASTES, write_foods
from tiny import Tiny
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.errors import DataError
from tsgen.settings import DocT5QueryConfig, QueriesConfig
from tsgen.synthetic.doct5query import DocT5Query, tune
from tsgen.synthetic.writing import QUERIES, make_queries
from tsgen.training_loop import CHECKPOINT


@pytest.fixture(scope="module")
def foods(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    return load(write_foods(tmp_path_factory.mktemp("set") / "foods", "train", "dev"))


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 of one layer whose tokenizer closes texts as T5's does."""
    words = [*FOODS, *TASTES, "what", "is", "a", "food.", "The", "With", "it", "go", "and"]
    torch.manual_seed(0)
    backbone = Tiny(words).t5()
    folder = tmp_path_factory.mktemp("t5")
    backbone.model.config.eos_token_id = backbone.model.generation_config.eos_token_id = 3
    backbone.model.save_pretrained(folder)
    backbone.tokenizer.save_pretrained(folder)
    return folder


def settings(t5: Path, **more: object) -> DocT5QueryConfig:
    values = {"model": str(t5), "document_tokens": 16, "query_tokens": 6, "top_k": 1}
    learning = {"batch_size": 10, "epochs": 40, "learning_rate": 1e-2, "validate_every": 20}
    return DocT5QueryConfig.from_mapping(values | learning | {"tune": True} | more)


def words_right(writer: DocT5Query, foods: DataSet) -> int:
    """How many of the documents' own foods occur in the query that is written for them."""
    found = writer.write(list(foods.documents()), 1, seed=0)
    return sum(food in query.split() for (query,), food in zip(found, FOODS, strict=True))


def test_tuning_teaches_the_sets_own_queries(foods: DataSet, t5: Path, tmp_path: Path) -> None:
    config = settings(t5)
    writer = DocT5Query(config)
    before = words_right(writer, foods)
    figure = tune(writer, foods, config, 0, tmp_path)
    assert figure > 0.3
    assert words_right(writer, foods) > before + 3
    assert (tmp_path / CHECKPOINT).exists()  # for a call that goes on


def test_an_interrupted_tuning_ends_in_the_same_weights(
    foods: DataSet, t5: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(t5, epochs=4, validate_every=2)
    undisturbed = DocT5Query(config)
    tune(undisturbed, foods, config, 0, tmp_path / "a")
    real, calls = DocT5Query.loss, 0

    def breaking(self: DocT5Query, *texts: list[str]) -> torch.Tensor:
        nonlocal calls
        calls += 1
        if calls == 10:
            raise KeyboardInterrupt
        return real(self, *texts)

    monkeypatch.setattr(DocT5Query, "loss", breaking)
    with pytest.raises(KeyboardInterrupt):
        tune(DocT5Query(config), foods, config, 0, tmp_path / "b")
    resumed = DocT5Query(config)
    tune(resumed, foods, config, 0, tmp_path / "b")
    both = zip(undisturbed.model.parameters(), resumed.model.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in both)


def test_written_queries_depend_on_tuning_and_on_the_judgments(
    foods: DataSet, t5: Path, tmp_path: Path
) -> None:
    def made(data: DataSet, **more: object) -> Path:
        options = settings(t5, **more).model_dump()
        config = QueriesConfig(writer="doct5query", n=1, options=options)
        return make_queries(data, config, 0, tmp_path)

    tuned = made(foods, epochs=2)
    assert (tuned / QUERIES).is_file()
    assert not list(tmp_path.rglob(CHECKPOINT))
    assert made(foods, epochs=2, tune=False) != tuned
    fewer = load(write_foods(tmp_path / "foods", "train"))  # no dev: other pairs
    assert made(fewer, epochs=2) != tuned
    assert made(fewer, epochs=2, tune=False) == made(foods, epochs=2, tune=False)


def test_tuning_needs_pairs(t5: Path, tmp_path: Path) -> None:
    data = load(write_foods(tmp_path / "foods", "test"))
    with pytest.raises(DataError, match=r"no training judgments .*tune=false"):
        make_queries(
            data,
            QueriesConfig(writer="doct5query", options={"model": str(t5), "tune": True}),
            0,
            tmp_path,
        )
