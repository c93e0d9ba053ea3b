"""Twenty short documents with their questions, and settings with which an engine learns them."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from toy import write_beir

FOODS = """bread egg milk rice tea coffee salt sugar apple pear plum fish beef pork corn oats honey
jam soup cake""".split()
TASTES = "white brown sweet sour fresh dried smoked raw cooked frozen".split()


def write_foods(folder: Path, *splits: str) -> Path:
    """A data set whose judgments of every split are the same."""
    documents = {
        f"d{i}": f"The {TASTES[i % 10]} {food} is a food. With it go {FOODS[(i * 7 + 3) % 20]} and "
        f"{FOODS[(i * 5 + 1) % 20]}."
        for i, food in enumerate(FOODS)
    }
    queries = {f"q{i}": f"what is {TASTES[i % 10]} {food}" for i, food in enumerate(FOODS)}
    judged = [(f"q{i}", f"d{i}") for i in range(len(FOODS))]
    return write_beir(folder, documents, queries, **dict.fromkeys(splits, judged))


def write_bert(folder: Path) -> Path:
    """A one-layer BERT that knows these words."""
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ",", *FOODS, *TASTES, "what", "is", "food"]
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(known)}, unk_token="[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(known),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=40,
    )
    BertModel(config).save_pretrained(folder)
    return folder


def settings(bert: Path, epochs: int = 60) -> list[str]:
    """Over the preset `tiny`."""
    return [
        "terms.weights=tfidf",
        "terms.n=4",
        f"model.encoder={bert}",
        "model.heads=4",
        "model.inner=64",
        "model.dropout=0.0",
        f"train.epochs={epochs}",
        "train.batch_size=20",
        "train.learning_rate=1e-2",
        "train.encoder_learning_rate=1e-2",
        "train.freeze_embeddings=false",
        "train.validate_every=20",
        "train.patience=9",
    ]
