"""The paper's form runs from data of the released shape to figures, with models small enough."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import normalizers

import tiny
from fitted import FOODS, TASTES
from tsgen.config import read_settings
from tsgen.corpus.load import load
from tsgen.evaluate.plan import Plan
from tsgen.evaluate.reproduce import Reproduction, dry_run, reproduce
from tsgen.synthetic.writing import QUERIES

NAMES = [f"{taste} {food}" for taste, food in zip(TASTES * 2, FOODS, strict=True)]
WORDS = [*FOODS, *TASTES, *"what is a food . the with it goes who eats and".split()]


def write_t5(folder: Path) -> Path:
    torch.manual_seed(0)
    made = tiny.Tiny(WORDS).t5()
    made.model.config.eos_token_id = made.model.generation_config.eos_token_id = 3
    made.model.save_pretrained(folder)
    made.tokenizer.save_pretrained(folder)
    return folder


def write_bert(folder: Path) -> Path:
    words = tiny.word_level(WORDS)
    words.normalizer = normalizers.Lowercase()
    return tiny.write_bert(folder, words)


def small(tmp_path: Path, *more: str) -> dict[str, dict[str, Any]]:
    """What is set over the preset `paper`: the sizes of models and batches, and nothing else."""
    t5, bert = write_t5(tmp_path / "t5"), write_bert(tmp_path / "bert")
    given = [
        f"weigher.model.encoder={bert}",
        "weigher.model.window=32",
        "weigher.model.overlap=8",
        "weigher.training.window=32",
        "weigher.training.epochs=1",
        "weigher.training.negatives=2",
        "weigher.training.validate_every=10",
        f"queries.doct5query.model={t5}",
        "queries.doct5query.epochs=1",
        "queries.doct5query.query_tokens=8",
        "queries.doct5query.document_tokens=24",
        f"model.backbone={t5}",
        "model.query_tokens=16",
        "terms.n=3",
        "train.epochs=2",
        "train.batch_size=20",
        "train.validate_every=5",
        "train.validation.beam=4",
        "train.favourite.beam=2",
        "decode.beam=10",
    ]
    return read_settings(None, [*given, *more])


def write_passages(folder: Path) -> Path:
    """MS MARCO passage: tabs, TREC judgments, the test named dev.small."""
    folder.mkdir()

    def lines(form: str) -> str:
        return "".join(form.format(i=i, name=name) + "\n" for i, name in enumerate(NAMES))

    for name, form in (
        ("collection.tsv", "{i}\tthe {name} is a food . it goes with {name}"),
        ("queries.train.tsv", "{i}\twhat is {name}"),
        ("queries.dev.small.tsv", "10{i}\twho eats {name}"),
        ("qrels.train.tsv", "{i}\t0\t{i}\t1"),
        ("qrels.dev.small.tsv", "10{i}\t0\t{i}\t1"),
    ):
        (folder / name).write_text(lines(form))
    return folder


def done(found: Plan) -> list[bool]:
    return [stage.done for stages in found.rows.values() for stage in stages]


def test_table4(tmp_path: Path) -> None:
    """Judged queries for the weigher and the writer, synthetic ones alone for the generator."""
    data = load(write_passages(tmp_path / "msmarco-passage"))
    asked: dict[str, Any] = {"form": "paper", "rows": ["TSGen"]}
    asked |= {"settings": small(tmp_path), "cache": tmp_path / "cache"}
    assert not any(done(dry_run("table4", data, **asked)))
    found = reproduce("table4", data, **asked)
    assert columns(found) == ["n", "M@10", "paper M@10", "minutes"]
    assert found.tables[0].rows[0].values[2] == 0.195
    assert all(done(dry_run("table4", data, **asked)))
    (queries,) = (tmp_path / "cache").glob(f"*/queries-*/{QUERIES}")
    written = [json.loads(line)["query"] for line in queries.read_text().splitlines()]
    (pairs,) = (tmp_path / "cache").glob("*/iteration-1-*/figures.json")
    assert len(written) * 0.9 <= json.loads(pairs.read_text())["pairs"] <= len(written)


def test_a_released_set_by_its_name(tmp_path: Path) -> None:
    """NQ320K with its synthetic queries: no writer is loaded, the paper's figures are there."""
    folder = tmp_path / "NQ320K"
    folder.mkdir()
    texts = [f"the {name} is a food . it goes with {name}" for name in NAMES]
    for name, value in (
        ("corpus_lite.json", texts),
        ("train.json", [[f"what is {name}", i] for i, name in enumerate(NAMES)]),
        ("dev.json", [[f"who eats {name}", i] for i, name in enumerate(NAMES)]),
        ("train.json.qg.json", [[f"{name} food", i] for i, name in enumerate(NAMES)]),
    ):
        (folder / name).write_text(json.dumps(value))
    over = small(tmp_path, "queries.doct5query.model=/no/such/model", "train.iterations=1")
    found = reproduce(
        "table6", load(folder), form="paper", rows=["as a sequence", "one iteration"],
        settings=over, cache=tmp_path / "cache", seeds=[0, 1],
    )  # fmt: skip
    assert "± R@100" in columns(found)
    paper = columns(found).index("paper R@100")
    assert [row.values[paper] for row in found.tables[0].rows] == [0.921, 0.932]
    assert not list((tmp_path / "cache").glob("*/written-queries-*/checkpoint*"))


def columns(found: Reproduction) -> list[str]:
    return [column.name for column in found.tables[0].columns]


@pytest.mark.parametrize("row", ["DSI + DocT5 × 1", "MINDER"])
def test_rivals_learn_from_synthetic_queries(row: str, tmp_path: Path) -> None:
    data = load(write_passages(tmp_path / "msmarco-passage"))
    found = reproduce(
        "table4", data, form="paper", rows=[row], cache=tmp_path / "cache",
        settings=small(tmp_path, "queries.writer=extractive"),
    )  # fmt: skip
    assert found.tables[0].rows[0].label == row
