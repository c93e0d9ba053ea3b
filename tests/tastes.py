"""Thirty short documents, each found by a taste and a food together, and a BERT that knows them."""

from pathlib import Path
from typing import Any

from tokenizers import normalizers, pre_tokenizers

import tiny
from toy import write_beir
from tsgen.corpus.load import load
from tsgen.records import Hit
from tsgen.retrieve.systems import SYSTEMS

FOODS = "bread egg milk rice tea soup".split()
TASTES = "white sweet sour smoked raw".split()
OTHERS = "what is the a food with it go and".split()
PAIRS = [(taste, food) for taste in TASTES for food in FOODS]
QUERIES = [f"what is {taste} {food}" for taste, food in PAIRS]


def write_tastes(folder: Path, *splits: str) -> Path:
    """A data set whose judgments of every split are the same."""
    documents = {
        f"d{i}": f"The {taste} {food} is a food. With it go {FOODS[(i * 7 + 3) % 6]} and "
        f"{TASTES[(i * 3 + 1) % 5]}."
        for i, (taste, food) in enumerate(PAIRS)
    }
    queries = {f"q{i}": query for i, query in enumerate(QUERIES)}
    judged = [(f"q{i}", f"d{i}") for i in range(len(PAIRS))]
    return write_beir(folder, documents, queries, **dict.fromkeys(splits, judged))


def write_words_bert(folder: Path) -> Path:
    """A one-layer BERT with a token for each of these words."""
    words = tiny.word_level([*FOODS, *TASTES, *OTHERS, "."])
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tiny.write_bert(folder, words)


def fitted(name: str, settings: dict[str, Any], tmp_path: Path) -> tuple[list[list[Hit]], Any]:
    """The hits of a system that was fitted, and saved and loaded twice, the second time in
    `tmp_path` / again; and the system."""
    data, each = load(write_tastes(tmp_path / "set", "train", "dev", "test")), SYSTEMS.get(name)
    folder, again = tmp_path / "cache" / name, tmp_path / "again"
    folder.mkdir(parents=True)
    again.mkdir()
    each.fit(data, each.settings({name: settings}), 0, folder)
    retriever = each.load(folder)
    hits = retriever.search(QUERIES, 5)
    retriever.save(again)
    assert each.load(again).search(QUERIES, 5) == hits
    return hits, retriever


def recall(hits: list[list[Hit]]) -> float:
    """R@1 of the queries' hits."""
    return sum(row[0].document_id == f"d{i}" for i, row in enumerate(hits)) / len(hits)
