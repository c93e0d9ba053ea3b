"""Twenty documents, their term sets, and random models of every family small enough to learn them.

A document's terms are letters' names and numbers, spelled by one to three pieces of the tokenizer.
"""

import numpy as np
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

from tsgen.docids.term_set import TermSets
from tsgen.model.mini import Mini, MiniConfig
from tsgen.model.seq2seq import Seq2Seq
from tsgen.model.vocabulary import word_pieces
from tsgen.queries.pairs import Pair
from tsgen.records import TermSet
from tsgen.train.examples import Validation
from tsgen.train.generator import Generator

DOCUMENTS = 20
PIECES = [f"w{n}" for n in range(8)]
TERMS = [f"{a} {b}" for a in PIECES for b in PIECES[:3]] + PIECES[3:]  # of one piece or of two
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ",", *PIECES, *(f"q{n}" for n in range(DOCUMENTS))]
WIDTH = 32


def term_sets() -> TermSets:
    rng = np.random.default_rng(0)
    rows = [rng.choice(len(TERMS), size=4, replace=False) for _ in range(DOCUMENTS)]
    weights = (4.0, 3.0, 2.0, 1.0)
    return TermSets.of(
        TermSet(f"d{i}", tuple(TERMS[t] for t in row), weights) for i, row in enumerate(rows)
    )


PAIRS = [Pair(f"q{i} {PIECES[i % 8]}", i) for i in range(DOCUMENTS)]
VALIDATION = Validation([pair.query for pair in PAIRS], [{pair.document} for pair in PAIRS])


def tokenizer() -> PreTrainedTokenizerFast:
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]"
    )


def t5() -> Seq2Seq:
    config = T5Config(
        vocab_size=len(WORDS),
        d_model=WIDTH,
        d_kv=8,
        d_ff=64,
        num_layers=1,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=0,
    )
    return Seq2Seq(T5ForConditionalGeneration(config), tokenizer())


def bart() -> Seq2Seq:
    config = BartConfig(
        vocab_size=len(WORDS),
        d_model=WIDTH,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=40,
        dropout=0.0,
        pad_token_id=0,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
    )
    return Seq2Seq(BartForConditionalGeneration(config), tokenizer())


def bert_config(**extra: bool) -> BertConfig:
    return BertConfig(
        vocab_size=len(WORDS),
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=40,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **extra,
    )


def bert2bert() -> Seq2Seq:
    decoder = bert_config(is_decoder=True, add_cross_attention=True)
    config = EncoderDecoderConfig.from_encoder_decoder_configs(bert_config(), decoder)
    config.decoder_start_token_id, config.pad_token_id = 2, 0
    return Seq2Seq(EncoderDecoderModel(config), tokenizer())


def mini(spelling: str) -> Mini:
    config = MiniConfig(heads=4, inner=64, layers=1, spelling=spelling, positions=40, dropout=0.0)
    words = tokenizer()
    pieces = word_pieces(words, list(term_sets().vocabulary)) if spelling == "word" else None
    return Mini(config, BertModel(bert_config(), add_pooling_layer=False), words, pieces)


FAMILIES = {
    "t5": t5,
    "bart": bart,
    "bert2bert": bert2bert,
    "mini-word": lambda: mini("word"),
    "mini-subword": lambda: mini("subword"),
}


def generator(family: str, seed: int = 0) -> Generator:
    torch.manual_seed(seed)
    return Generator.of(FAMILIES[family](), term_sets())
