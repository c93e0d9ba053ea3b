"""Random models of every family, small enough for tests, and tokenizers over a few words."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertModel,
    EncoderDecoderConfig,
    EncoderDecoderModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from tsgen.model.mini import Mini
from tsgen.model.pretrained import DecoderOnly, Seq2Seq
from tsgen.model.vocabulary import word_pieces
from tsgen.settings import MiniConfig

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ","]
POSITIONS = 40


def wrapped(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """For transformers; the tokenizer's first tokens are the special ones."""
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]"
    )


def word_level(words: list[str]) -> Tokenizer:
    """One token a word."""
    known = {word: i for i, word in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def bert_config(vocabulary: int, width: int = 32, layers: int = 1, **extra: bool) -> BertConfig:
    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=2 * width,
        max_position_embeddings=POSITIONS,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **extra,
    )


def write_bert(folder: Path, tokenizer: Tokenizer, width: int = 32, layers: int = 1) -> Path:
    """The folder with a BERT and its tokenizer."""
    wrapped(tokenizer).save_pretrained(folder)
    torch.manual_seed(0)
    config = bert_config(tokenizer.get_vocab_size(), width, layers)
    BertModel(config).save_pretrained(folder)
    return folder


@dataclass(frozen=True)
class Tiny:
    """Backbones that know some words, without dropout."""

    words: list[str]
    width: int = 32
    layers: int = 1

    def tokenizer(self) -> PreTrainedTokenizerFast:
        return wrapped(word_level(self.words))

    @property
    def vocabulary(self) -> int:
        return len(SPECIAL) + len(self.words)

    def t5(self, scaled: bool = True) -> Seq2Seq:
        config = T5Config(
            vocab_size=self.vocabulary,
            d_model=self.width,
            d_kv=self.width // 4,
            d_ff=2 * self.width,
            num_layers=self.layers,
            num_heads=4,
            dropout_rate=0.0,
            relative_attention_num_buckets=8,
            relative_attention_max_distance=12,
            decoder_start_token_id=0,
            tie_word_embeddings=scaled,
        )
        return Seq2Seq(T5ForConditionalGeneration(config), self.tokenizer())

    def bart(self, scaled: bool = False) -> Seq2Seq:
        config = BartConfig(
            vocab_size=self.vocabulary,
            d_model=self.width,
            encoder_layers=1,
            decoder_layers=self.layers,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=2 * self.width,
            decoder_ffn_dim=2 * self.width,
            max_position_embeddings=POSITIONS,
            dropout=0.0,
            scale_embedding=scaled,
            pad_token_id=0,
            decoder_start_token_id=2,
            forced_eos_token_id=None,
        )
        return Seq2Seq(BartForConditionalGeneration(config), self.tokenizer())

    def bert2bert(self, encoder_width: int | None = None) -> Seq2Seq:
        """Where the encoder has another width, there is a bridge between them."""
        encoder = bert_config(self.vocabulary, encoder_width or self.width, self.layers)
        decoder = bert_config(
            self.vocabulary, self.width, self.layers, is_decoder=True, add_cross_attention=True
        )
        config = EncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
        config.decoder_start_token_id, config.pad_token_id = 2, 0
        return Seq2Seq(EncoderDecoderModel(config), self.tokenizer())

    def llama(self) -> DecoderOnly:
        """Rotary positions, keys and values shared by pairs of heads, its own output layer."""
        config = LlamaConfig(
            vocab_size=self.vocabulary,
            hidden_size=self.width,
            intermediate_size=2 * self.width,
            num_hidden_layers=self.layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=POSITIONS,
        )
        return DecoderOnly(LlamaForCausalLM(config), self.tokenizer())

    def gpt2(self) -> DecoderOnly:
        """Learned positions, tied embeddings."""
        config = GPT2Config(
            vocab_size=self.vocabulary,
            n_embd=self.width,
            n_layer=self.layers,
            n_head=4,
            n_positions=POSITIONS,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
        return DecoderOnly(GPT2LMHeadModel(config), self.tokenizer())

    def mini(self, terms: list[str] | None = None, **changes: Any) -> Mini:
        config = MiniConfig(
            heads=4,
            inner=2 * self.width,
            layers=self.layers,
            spelling="subword" if terms is None else "word",
            positions=POSITIONS,
            dropout=0.0,
            **changes,
        )
        encoder = BertModel(
            bert_config(self.vocabulary, self.width, self.layers), add_pooling_layer=False
        )
        pieces = None if terms is None else word_pieces(self.tokenizer(), terms)
        return Mini(config, encoder, self.tokenizer(), pieces).eval()
