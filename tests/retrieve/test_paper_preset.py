"""The preset `paper` says what the paper says, element by element."""

from typing import Any

import pytest

from tsgen.config import preset, read_settings
from tsgen.retrieve.build import engine_config
from tsgen.settings import LearnedConfig, preset_options

PAPER = {
    # Section 3.1: words between spaces, a BERT with an MLP, the weights alone, N = 12.
    "terms.weights": "learned",
    "terms.n": 12,
    "terms.words.split": "spaces",
    "terms.words.stop_words": "none",
    "terms.words.stem": "none",
    "terms.words.ngrams": 1,
    "weigher.model.encoder": "bert-base-uncased",
    "weigher.model.layers": None,
    "weigher.model.prior": "none",
    "weigher.model.selector": False,
    "weigher.training.in_batch": False,
    "weigher.training.temperature": 1.0,
    "weigher.share": 1.0,
    # Section 3.3: two iterations of the Seq2Seq loss, by weight, then the first beam at u = 3.
    "train.iterations": 2,
    "train.order": "weight",
    "train.permutations": 1,
    "train.loss": "seq2seq",
    "train.normalise": "full",
    "train.random_negatives": 0,
    "train.hard_negatives": 0,
    "train.prior_weight": 0.0,
    "train.lexical_weight": 0.0,
    "train.first_tokens": 0,
    "train.favourite.temperature": 3.0,
    "train.favourite.merge": "none",
    "train.favourite.or_weight_order": False,
    # Section 4.1: T5-base, pieces of words and a comma, ten queries by docT5query, beam 100.
    "queries.writer": "doct5query",
    "queries.n": 10,
    "model.backbone": "google-t5/t5-base",
    "model.spelling": "subword",
    "decode.beam": 100,
    "decode.normalise": "full",
    "decode.merge": "none",
    "decode.decided": "apart",
    "decode.temperature": 1.0,
    "decode.prior_weight": 0.0,
    "decode.lexical_weight": 0.0,
    "decode.generated_weight": 1.0,
    "decode.pool": 0,
    "decode.fill": 0,
    "decode.look_ahead": 0.0,
    "search.correct": False,
}


@pytest.fixture(scope="module")
def options() -> dict[str, Any]:
    return {f"{one.table}.{one.name}": one.value for one in preset_options("paper")}


@pytest.mark.parametrize("name", PAPER)
def test_element(options: dict[str, Any], name: str) -> None:
    assert options[name] == PAPER[name]


def test_what_an_engine_of_the_preset_is_made_with() -> None:
    made = engine_config(read_settings(None, [], "paper"))
    learned = LearnedConfig.from_mapping(made.terms.options)
    assert learned.model.encoder == "bert-base-uncased"
    assert made.terms.words.split == "spaces"
    assert made.train.favourite_search.temperature == 3.0
    assert not made.train.favourite_search.or_weight_order


def test_validation_searches_as_the_search_does() -> None:
    tables = preset("paper")
    differing = {"beam"}  # a validation has a smaller one
    validation, decode = tables["train"]["validation"], {"normalise": "full"} | tables["decode"]
    assert {name: value for name, value in validation.items() if name not in differing} == {
        name: value for name, value in decode.items() if name not in differing
    }
