"""Tiny random models of every family, with a tokenizer over a few words; shared by the tests."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertModel,
    EncoderDecoderConfig,
    EncoderDecoderModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from tsgen.model.mini import Mini, MiniConfig
from tsgen.model.seq2seq import Seq2Seq
from tsgen.model.vocabulary import word_pieces

WORDS = "[PAD] [UNK] [CLS] [SEP] a b c d e f g h i j k l m n o p , sodium bread white egg".split()
TERMS = ["a b c", "d", "white bread", "egg", "zzz", "sodium", "e f g h i j k l m n", "p"]


def tokenizer() -> PreTrainedTokenizerFast:
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]"
    )


def t5(scaled: bool = True) -> Seq2Seq:
    config = T5Config(
        vocab_size=len(WORDS),
        d_model=16,
        d_kv=4,
        d_ff=32,
        num_layers=2,
        num_heads=4,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=12,
        decoder_start_token_id=0,
        tie_word_embeddings=scaled,
    )
    return Seq2Seq(T5ForConditionalGeneration(config), tokenizer())


def bart() -> Seq2Seq:
    config = BartConfig(
        vocab_size=len(WORDS),
        d_model=16,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=40,
        init_std=0.5,
        pad_token_id=0,
        decoder_start_token_id=2,
    )
    model = BartForConditionalGeneration(config)
    model.final_logits_bias.normal_()
    return Seq2Seq(model, tokenizer())


def bert_config(width: int, **extra: bool) -> BertConfig:
    return BertConfig(
        vocab_size=len(WORDS),
        hidden_size=width,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=32,
        max_position_embeddings=40,
        initializer_range=0.5,
        **extra,
    )


def bert2bert() -> Seq2Seq:
    """With encoder and decoder of different widths, so that the bridge between them is used."""
    decoder = bert_config(16, is_decoder=True, add_cross_attention=True)
    config = EncoderDecoderConfig.from_encoder_decoder_configs(bert_config(24), decoder)
    config.decoder_start_token_id, config.pad_token_id = 2, 0
    return Seq2Seq(EncoderDecoderModel(config), tokenizer())


def mini(spelling: str = "word") -> Mini:
    config = MiniConfig(heads=4, inner=32, spelling=spelling, positions=40)
    words = tokenizer()
    encoder = BertModel(bert_config(16), add_pooling_layer=False)
    pieces = word_pieces(words, TERMS) if spelling == "word" else None
    model = Mini(config, encoder, words, pieces).eval()
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(std=0.3)  # far from flat, so that a wrong position shows
    return model


FAMILIES = {
    "t5": t5,
    "t5-unscaled": lambda: t5(scaled=False),
    "bart": bart,
    "bert2bert": bert2bert,
    "mini-word": mini,
    "mini-subword": lambda: mini("subword"),
}
