"""Every family of backbones learns twenty documents by heart, in each spelling it has."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import FAMILIES, PAIRS, VALIDATION, generator, settings_of

from tsgen.decode.favourite import favourite_permutations
from tsgen.decode.log_probs import log_likelihoods
from tsgen.decode.search import search
from tsgen.errors import ConfigError
from tsgen.model.generator import Generator
from tsgen.settings import DecodeConfig, FavouriteConfig, TrainConfig
from tsgen.train.examples import reorder, weight_order
from tsgen.train.loop import TrainingSet, train

SETTINGS = {
    "batch_size": 20, "epochs": 90, "learning_rate": 1e-2, "validate_every": 30, "patience": 9,
}  # fmt: skip


def silent(step: int, steps: int, loss: float | None, figure: float | None) -> None:
    pass


def trained(family: str, folder: Path, **changes: object) -> Generator:
    one = generator(family)
    training = TrainingSet(
        PAIRS,
        weight_order(one.sets, [pair.document for pair in PAIRS]),
        reorder(str(changes.get("order")), one.sets),
    )
    config = TrainConfig.from_mapping(SETTINGS | changes)
    train(one, training, VALIDATION, config, 0, folder, silent)
    return one


def recall_at_1(one: Generator, **changes: Any) -> float:
    decode = DecodeConfig(**{"beam": 10, "normalise": "docid"} | changes)
    queries = [pair.query for pair in PAIRS]
    found = search(one.backbone, one.constraint, queries, 1, decode)
    return float(np.mean([hits[0].document == p.document for hits, p in zip(found, PAIRS)]))  # noqa: B905


@pytest.mark.parametrize("family", FAMILIES)
def test_learns_twenty_documents(family: str, tmp_path: Path) -> None:
    assert recall_at_1(generator(family)) < 0.5
    one = trained(family, tmp_path)
    assert recall_at_1(one) == 1.0
    _check_favourites(one)
    _check_saving(one, tmp_path / "saved")


def _check_favourites(one: Generator) -> None:
    """The favourite permutation is at least as likely as the weight order, for every pair."""
    pairs = [(pair.query, (pair.document + shift) % 20) for pair in PAIRS for shift in (0, 7)]
    config = FavouriteConfig(normalise="docid", batch=32, or_weight_order=True)
    favourites = favourite_permutations(one.backbone, one.constraint, pairs, config)
    spelled = [one.constraint.spelling.sequence(one.sets.terms(d)) for _, d in pairs]
    queries = [query for query, _ in pairs]
    alphabet = one.constraint.alphabet
    by_weight = log_likelihoods(one.backbone, queries, np.arange(len(pairs)), spelled, alphabet)
    for favourite, likelihood, (_, document) in zip(favourites, by_weight, pairs, strict=True):
        assert favourite.log_prob >= likelihood - 1e-4
        assert sorted(favourite.terms) == sorted(one.sets.terms(document))


def _check_saving(one: Generator, folder: Path) -> None:
    one.backbone.save(folder)
    again = Generator.load(folder, one.sets, settings_of(one.backbone))
    targets = torch.tensor([[5, 6, 7]])
    expected = one.backbone(["q3 w3"], targets)
    torch.testing.assert_close(again.backbone(["q3 w3"], targets), expected)
    assert recall_at_1(again) == 1.0


@pytest.mark.parametrize(
    "changes",
    [
        {"loss": "any_remaining", "order": "shuffled"},
        {"prior_weight": 4.0, "random_negatives": 8},
        {"normalise": "full", "freeze_embeddings": True, "encoder_learning_rate": 2e-3},
    ],
)
def test_other_settings_learn_too(tmp_path: Path, changes: dict[str, object]) -> None:
    assert recall_at_1(trained("mini-word", tmp_path, **changes)) >= 0.9


def test_a_few_terms_are_enough_to_search_over_valid_ones(tmp_path: Path) -> None:
    changes = {
        "loss": "any_remaining",
        "order": "shuffled",
        "random_negatives": 8,
        "first_tokens": 3,
    }
    one = trained("mini-word-set", tmp_path, **changes, epochs=270)
    assert recall_at_1(one, normalise="valid", merge="sum") == 1.0


def test_frozen_embeddings_stay(tmp_path: Path) -> None:
    before = generator("mini-word").encoder.get_input_embeddings().weight
    changes = {"freeze_embeddings": True, "epochs": 1}
    after = trained("mini-word", tmp_path, **changes)
    assert torch.equal(after.encoder.get_input_embeddings().weight, before)


def test_any_remaining_needs_one_token_a_term(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'any_remaining' needs one token a term"):
        trained("t5", tmp_path, loss="any_remaining")
    with pytest.raises(ConfigError, match=r"train.prior_weight = 2.0 needs one token a term"):
        trained("t5", tmp_path, prior_weight=2.0, random_negatives=8)
