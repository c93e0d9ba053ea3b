"""Backbones come back from disk as they were, and say what is wrong when they cannot."""

import pytest
import torch
from backbones import FAMILIES, TERMS, TINY, WORDS, sharpened
from torch.testing import assert_close
from transformers import BertModel

from tiny import bert_config, word_level, write_bert
from tsgen.errors import ArtifactError, ConfigError
from tsgen.model.mini import Mini
from tsgen.model.pretrained import load_saved
from tsgen.model.vocabulary import word_pieces
from tsgen.settings import MiniConfig

CONFIG = bert_config(TINY.vocabulary, width=16)


def mini():
    return sharpened(TINY.mini(TERMS))


@pytest.mark.parametrize("spelling", ["word", "subword"])
def test_mini_round_trip(tmp_path, spelling):
    before = FAMILIES[f"mini-{spelling}"]()
    before.save(tmp_path / "m")
    after = Mini.load(tmp_path / "m")
    targets = torch.tensor([[1, 2, 3]])
    assert_close(after(["white bread"], targets), before(["white bread"], targets))
    assert after.config == before.config
    assert not list((tmp_path / "m").glob(".*"))


def test_mini_with_other_terms(tmp_path):
    before = FAMILIES["mini-word"]()
    before.save(tmp_path)
    after = Mini.load(tmp_path, ["egg", "white bread", "never seen"])
    assert after.output_size == 3
    same = before.table(torch.tensor([TERMS.index("egg"), TERMS.index("white bread")]))
    assert_close(after.table(torch.tensor([0, 1])), same)


@pytest.fixture
def small(tmp_path):
    """A mini on an encoder of its own, in a folder, with the embeddings that it has there."""
    write_bert(tmp_path / "bert", word_level(WORDS), width=16)
    config = MiniConfig(encoder=str(tmp_path / "bert"), encoder_layers=1, layers=1, heads=4)
    return Mini.create(config, TERMS)


def test_mini_to_be_shipped(tmp_path, small):
    small.save_small(tmp_path / "small")
    assert sorted(p.name for p in (tmp_path / "small").iterdir()) == [
        "mini.json",
        "model.safetensors",
    ]
    after = Mini.load(tmp_path / "small", TERMS[::-1])
    targets = torch.tensor([[1, 2, 3]])
    found = after(["white bread"], len(TERMS) - 1 - targets).flip(-1)
    assert_close(found, small(["white bread"], targets), atol=1e-2, rtol=1e-2)


def test_trained_embeddings_cannot_be_left_out(tmp_path, small):
    with torch.no_grad():
        small.encoder.get_input_embeddings().weight[0] += 1
    with pytest.raises(ConfigError, match=r"were trained, so they cannot be left out"):
        small.save_small(tmp_path / "small")


def test_mini_without_its_weights(tmp_path):
    mini().save(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ArtifactError, match=r"not a saved mini backbone.*model.safetensors"):
        Mini.load(tmp_path)


def test_mini_with_damaged_weights(tmp_path):
    mini().save(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ArtifactError, match="not a saved mini backbone"):
        Mini.load(tmp_path)


def test_mini_refuses_sizes_that_cannot_be():
    encoder = BertModel(CONFIG)
    with pytest.raises(ConfigError, match="heads = 5: expected a divisor of the width 16"):
        Mini(MiniConfig(heads=5), encoder, TINY.tokenizer(), word_pieces(TINY.tokenizer(), TERMS))
    with pytest.raises(ConfigError, match="spelling 'word': `word`, and only it, needs terms"):
        Mini(MiniConfig(heads=4), encoder, TINY.tokenizer())


def test_a_term_is_the_mean_of_its_pieces_before_training():
    pieces = word_pieces(TINY.tokenizer(), TERMS)
    model = Mini(MiniConfig(heads=4), BertModel(CONFIG), TINY.tokenizer(), pieces).eval()
    vectors = model.encoder.get_input_embeddings().weight[
        TINY.tokenizer()("white bread")["input_ids"]
    ]
    assert_close(model.table(torch.tensor([2]))[0], vectors.mean(0))


def test_the_composed_table_follows_training():
    model = mini()
    with torch.no_grad():
        before = model.logits(torch.ones(1, 16)).clone()
        model.train()
        model.table.map.weight.mul_(2)
        model.eval()
        assert_close(model.logits(torch.ones(1, 16)), 2 * before)
        some = torch.tensor([1])
        model.logits(torch.ones(1, 16), some)
        model.train().table.map.weight.mul_(2)
        assert_close(model.eval().logits(torch.ones(1, 16), some), 4 * before[:, some])


def test_pieces_of_terms():
    pieces = word_pieces(TINY.tokenizer(), ["a b", "", "zzz"])
    assert pieces.offsets.tolist() == [0, 2, 3, 4]
    assert pieces.values.tolist() == [5, 6, 1, 1]
    assert word_pieces(TINY.tokenizer(), []).offsets.tolist() == [0]


@pytest.mark.parametrize("family", [name for name in FAMILIES if "mini" not in name])
def test_saved_twice(tmp_path, family):
    """As iterations do: what was loaded is trained on, saved and loaded again."""
    before = FAMILIES[family]()
    targets = torch.tensor([[5, 6, 7], [1, 0, 2]])
    expected = before(["white bread", "egg"], targets)
    for name in ("first", "second"):
        before.save(tmp_path / name)
        before = load_saved(tmp_path / name)
        assert_close(before(["white bread", "egg"], targets), expected)
    assert not list((tmp_path / "second").glob(".*"))


def test_an_untied_t5_stays_untied(tmp_path):
    backbone = TINY.t5(scaled=False)
    model = backbone.model
    model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight))
    targets = torch.tensor([[5, 6, 7]])
    expected = backbone(["egg"], targets)
    for name in ("first", "second"):
        backbone.save(tmp_path / name)
        backbone = load_saved(tmp_path / name)
        assert_close(backbone(["egg"], targets), expected)
        assert not backbone.model.config.tie_word_embeddings


@pytest.mark.parametrize("family", ["bart", "bert2bert", "llama-word"])
def test_a_backbone_that_moves_takes_everything_along(family):
    backbone = FAMILIES[family]().double()
    assert backbone(["egg"], torch.tensor([[1, 2]])).dtype == torch.float64
    assert backbone.logits(backbone.encode(["egg"])[2]).dtype == torch.float64
