"""Iterations: favourites become targets, nothing is done twice, interruptions change nothing."""

import errno
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import DOCUMENTS, PAIRS, bert_config, generator, term_sets, tokenizer
from transformers import BertModel

from toy import write_beir
from tsgen import training_loop
from tsgen.constrain.constraint import Int
from tsgen.corpus.load import load
from tsgen.docids.assign import select_terms
from tsgen.errors import ArtifactError
from tsgen.progress import reporting
from tsgen.queries.lexical import LexicalIndex
from tsgen.settings import FavouriteConfig, GeneratorConfig, ModelConfig, TermsConfig, TrainConfig
from tsgen.train import iterate
from tsgen.train.examples import weight_order
from tsgen.train.iterate import MODEL, best_figure, favourite_orders, train_generator
from tsgen.train.objective import Negatives

TRAIN = TrainConfig(batch_size=20, epochs=6, learning_rate=1e-2, validate_every=3)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set, the tiny encoder, and term sets, in one folder."""
    folder = tmp_path_factory.mktemp("iterate")
    sets = term_sets()
    documents = {f"d{i}": " ".join(sets.term_set(i).terms) for i in range(DOCUMENTS)}
    queries = {f"q{i}": pair.query for i, pair in enumerate(PAIRS)}
    judged = [(f"q{i}", f"d{i}") for i in range(DOCUMENTS)]
    write_beir(folder / "set", documents, queries, train=judged, dev=judged)
    torch.manual_seed(0)
    BertModel(bert_config()).save_pretrained(folder / "bert")
    tokenizer().save_pretrained(folder / "bert")
    terms = TermsConfig(weights="tfidf", n=4)
    select_terms(load(folder / "set"), terms, folder / "terms")
    return folder


def config(data: Path, **train: object) -> GeneratorConfig:
    sizes = {"encoder_layers": 1, "layers": 1, "heads": 4, "inner": 64, "dropout": 0.0}
    model = ModelConfig.from_mapping(
        {"backbone": "mini-flat", "encoder": str(data / "bert")} | sizes
    )
    return GeneratorConfig(model=model, train=TRAIN.model_copy(update=train))


def run(data: Path, cache: Path, **train: object) -> list[Path]:
    settings = config(data, **train)
    return train_generator(load(data / "set"), data / "terms", settings, 0, cache)


def weights(iteration: Path) -> bytes:
    return (iteration / MODEL / "model.safetensors").read_bytes()


def test_two_iterations(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = run(data, tmp_path, iterations=1)
    before = weights(first)
    again, second = run(data, tmp_path)
    assert again == first
    assert weights(first) == before
    assert best_figure(second) >= best_figure(first) > 0.05  # it starts from the first one's best
    names = {path.name for path in second.iterdir()}
    assert "checkpoint.safetensors" not in names
    assert {"favourites-000000.npz", "learning_curve.jsonl", MODEL} <= names
    monkeypatch.setattr(iterate, "train", None)  # nothing is left to do
    assert run(data, tmp_path) == [first, second]


@pytest.mark.parametrize("moment", ["training, iteration 1", "favourite", "training, iteration 2"])
def test_interrupted_anywhere(
    data: Path, tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iterate, "PIECE", 7)

    def interrupt(what: str, done: int, total: int | None, note: str) -> None:
        if what.startswith(moment) and done >= (total or 0) // 2:
            raise KeyboardInterrupt

    whole = run(data, tmp_path / "whole")
    with reporting(interrupt), pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "cut")
    assert [weights(f) for f in run(data, tmp_path / "cut")] == [weights(f) for f in whole]


def test_a_full_disk_loses_no_checkpoint(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = []

    def full(*arguments: object) -> None:
        if len(saved) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        saved.append(save(*arguments))

    save = training_loop.save_checkpoint
    monkeypatch.setattr(training_loop, "save_checkpoint", full)
    with pytest.raises(ArtifactError, match="No space left on device"):
        run(data, tmp_path, iterations=1)
    assert list(tmp_path.glob(".iteration-1-*.partial/checkpoint.safetensors"))
    monkeypatch.setattr(training_loop, "save_checkpoint", save)
    steps: list[int] = []
    with reporting(lambda what, done, *_: steps.append(done)):
        run(data, tmp_path, iterations=1)
    assert steps[0] == 3  # goes on after step 3


def test_likelihood_order_asks_the_untrained_model(data: Path, tmp_path: Path) -> None:
    (folder,) = run(data, tmp_path, iterations=1, order="likelihood", epochs=1)
    assert (folder / "favourites-000000.npz").exists()


def test_favourite_orders_are_permutations_and_pieces_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = generator("mini-word")
    monkeypatch.setattr(iterate, "PIECE", 7)
    orders = favourite_orders(one, PAIRS, FavouriteConfig(), tmp_path)
    by_weight = weight_order(one.sets, [pair.document for pair in PAIRS])
    rows = [(orders.row(i).tolist(), by_weight.row(i).tolist()) for i in range(DOCUMENTS)]
    assert all(sorted(order) == sorted(terms) for order, terms in rows)
    assert sum(order != terms for order, terms in rows) > DOCUMENTS // 2
    assert len(list(tmp_path.iterdir())) == 3
    monkeypatch.setattr(iterate, "best_permutations", None)
    again = favourite_orders(one, PAIRS, FavouriteConfig(), tmp_path)
    assert again.values.tolist() == orders.values.tolist()


def test_several_favourites_a_pair(tmp_path: Path) -> None:
    one = generator("mini-word")
    orders = favourite_orders(one, PAIRS, FavouriteConfig(), tmp_path, count=3)
    for number, pair in enumerate(PAIRS):
        rows = [tuple(orders.row(3 * number + i).tolist()) for i in range(3)]
        assert len(set(rows)) == 3
        assert {tuple(sorted(row)) for row in rows} == {
            tuple(sorted(one.sets.terms(pair.document)))
        }


@pytest.mark.parametrize(
    ("order", "steps"), [("weight", [1, 3]), ("random", [3, 3]), ("shuffled", [3, 3])]
)
def test_several_permutations_make_longer_epochs(
    data: Path, tmp_path: Path, order: str, steps: list[int]
) -> None:
    folders = run(data, tmp_path, order=order, permutations=3, epochs=1)
    curves = [(folder / "learning_curve.jsonl").read_text().splitlines() for folder in folders]
    assert [json.loads(curve[-1])["of"] for curve in curves] == steps


def test_what_bm25_mistakes_for_the_answer_competes(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[set[int]] = []
    draw = Negatives.draw

    def watched(self: Negatives, targets: Int, hard: Int, rng: np.random.Generator) -> Int:
        drawn.extend(set(row) for row in hard.tolist())
        return draw(self, targets, hard, rng)

    monkeypatch.setattr(Negatives, "draw", watched)
    (made,) = run(data, tmp_path, iterations=1, epochs=1, hard_negatives=2, random_negatives=4)
    texts = [document.contents for document in load(data / "set").documents()]
    index = LexicalIndex.build(texts)
    assert len(drawn) == len(PAIRS)
    assert all(len(row) == 2 for row in drawn)
    for pair in PAIRS:  # where BM25 finds fewer than two others, random ones fill up
        ranked = index.top_k([pair.query], 3)[0][0].tolist()
        hard = [document for document in ranked if document not in (-1, pair.document)][:2]
        assert any(set(hard) <= row for row in drawn)
    settings = json.loads((made / "manifest.json").read_text())["config"]["train"]
    assert settings["hard_negatives"] == 2
