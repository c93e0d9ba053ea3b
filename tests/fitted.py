"""Twenty short documents with their questions, and settings with which an engine learns them."""

from pathlib import Path

from tokenizers import normalizers, pre_tokenizers

import tiny
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
    words = tiny.word_level([*FOODS, *TASTES, "what", "is", "food"])
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tiny.write_bert(folder, words)


def settings(bert: Path, epochs: int = 60) -> list[str]:
    """Over the preset `tiny`."""
    return [
        "terms.weights=tfidf",
        "terms.n=4",
        "model.backbone=mini-flat",
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
