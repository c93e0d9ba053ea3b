"""Thirty short documents with titles, URLs and questions, and settings that learn them by heart."""

import json
from itertools import product
from pathlib import Path
from typing import Any

from tokenizers import normalizers, pre_tokenizers

import tiny
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.retrieve.systems import SYSTEMS, Retriever

COLOURS = "red green blue white black".split()
ANIMALS = "fox hen owl cow cat dog".split()
PLACES = "river forest meadow mountain desert".split()
NAMES = [f"{colour} {animal}" for colour, animal in product(COLOURS, ANIMALS)]
FOLLOWERS = "http https www org animals com - / 2 3".split()


def write_thirty(folder: Path, **changes: Any) -> DataSet:
    """The data set; all splits ask the same. `changes` are those of every document."""
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as file:
        for i, name in enumerate(NAMES):
            place = PLACES[i % 5]
            text = f"The {name} lives at the {place}. Number {i % 10} eats what the {place} has."
            row = {"_id": f"d{i}", "title": name, "text": text} | changes
            file.write(json.dumps(row) + "\n")
    with (folder / "queries.jsonl").open("w") as file:
        for i, name in enumerate(NAMES):
            file.write(json.dumps({"_id": f"q{i}", "text": f"where is the {name}"}) + "\n")
    rows = "".join(f"q{i}\td{i}\t1\n" for i in range(len(NAMES)))
    for split in ("train", "dev", "test"):
        (folder / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    return load(folder)


def write_bert(folder: Path) -> Path:
    """A one-layer BERT that knows these words and digits, and [SEP] as the end of a text."""
    words = [*COLOURS, *ANIMALS, *PLACES, *FOLLOWERS, *"0 1 4 5 6 7 8 9".split()]
    words += "the lives at number eats what has where is".split()
    words = tiny.word_level(list(dict.fromkeys(words)))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Digits(individual_digits=True)]
    )
    made = tiny.write_bert(folder, words)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"sep_token": "[SEP]"}))
    return made


def tables(bert: Path, epochs: int = 40) -> dict[str, dict[str, Any]]:
    """The tables of the stages."""
    return {
        "terms": {"weights": "tfidf", "n": 4},  # of the set model, where there is one
        "queries": {"writer": "extractive", "n": 2},
        "model": {
            "backbone": "mini-flat",
            "encoder": str(bert),
            "layers": 1,
            "heads": 4,
            "inner": 64,
            "dropout": 0.0,
        },
        "train": {
            "batch_size": 30,
            "epochs": epochs,
            "iterations": 1,  # of term sets
            "learning_rate": 1e-2,
            "validate_every": 30,
            "patience": 9,
            "loss": "any_remaining",  # of term sets, so left out
        },
        "decode": {"beam": 10, "normalise": "valid", "prior_weight": 2.0},
    }


def fitted(name: str, data: DataSet, tmp_path: Path, epochs: int = 40, **own: Any) -> Retriever:
    """A system, fitted with settings of its own, and loaded."""
    bert = tmp_path / "bert"
    stages = tables(bert if bert.exists() else write_bert(bert), epochs)
    settings = stages | ({name: own} if own else {})
    folder = tmp_path / "cache" / name
    folder.mkdir(parents=True, exist_ok=True)
    found = SYSTEMS.get(name)
    found.fit(data, found.settings(settings), 0, folder)
    return found.load(folder)


def recall(retriever: Retriever, data: DataSet) -> float:
    """R@1 of the test queries."""
    queries = data.queries()
    asked = list(data.judgments("test").items())
    hits = retriever.search([queries[query].text for query, _ in asked], 3)
    right = [
        found[0].document_id in answers for found, (_, answers) in zip(hits, asked, strict=True)
    ]
    return sum(right) / len(right)


def same_after_saving(retriever: Any, data: DataSet, folder: Path) -> bool:
    """Whether what is saved and loaded gives the same hits, reasons included."""
    folder.mkdir()
    retriever.save(folder)
    texts = [query.text for query in data.queries().values()]
    again = type(retriever).load(folder)
    return bool(again.search(texts, 5) == retriever.search(texts, 5))
