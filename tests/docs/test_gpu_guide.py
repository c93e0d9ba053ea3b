"""Every command of the GPU owner's guide, on tiny files of the shape of the public downloads.

What would train is dry-run; everything else (copying, splitting, counting, importing the authors'
model and evaluating it) is done.
"""

import json
import os
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from blocks import blocks, commands
from typer.testing import CliRunner

from fitted import FOODS, TASTES
from tiny import Tiny
from tsgen.cli.main import app
from tsgen.evaluate.experiment import read_experiment
from tsgen.model.pretrained import load_pretrained

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "reproducing-gpu.md"
TORCHRUN = ["torchrun", "--nproc-per-node", "4", "-m", "tsgen"]
NAMES = [f"{taste} {food}" for taste, food in zip(TASTES * 2, FOODS, strict=True)]
COMMANDS = [
    command
    for block in blocks(PAGE)
    if block.language == "console" and "network" not in block.value
    for command, _ in commands(block.text)
]


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name.replace("__", "-").replace("_", ".")).write_text(content)


def lines(form: str) -> str:
    """A line for each name, with its number and what it is called."""
    return "".join(form.format(i=i, name=name) + "\n" for i, name in enumerate(NAMES))


def write_downloads(folder: Path) -> None:
    """The four public releases, twenty documents each."""
    pairs = [[f"what is {name}", i] for i, name in enumerate(NAMES)]
    (folder / "genret").mkdir(parents=True)
    for name, value in (
        ("corpus_lite.json", [f"{name} is a food." for name in NAMES]),
        ("train.json", pairs),
        ("dev.json", [[f"who eats {name}", i] for i, name in enumerate(NAMES)]),
        ("train.json.qg.json", [[f"{name} food", i] for i, name in enumerate(NAMES)]),
    ):
        (folder / "genret" / name).write_text(json.dumps(value))
    write(
        folder / "msmarco-docs",
        msmarco__docs_tsv=lines("D{i}\thttp://a.org/{i}\t{name}\t{name} is a food."),
        msmarco__doctrain__queries_tsv=lines("{i}\twhat is {name}"),
        msmarco__docdev__queries_tsv=lines("1{i}\twho eats {name}"),
        msmarco__doctrain__qrels_tsv="".join(f"{i} 0 D{i} 1\n" for i in range(12)),
        msmarco__docdev__qrels_tsv=lines("1{i} 0 D{i} 1"),
    )
    (folder / "ultron").mkdir()
    ids = "".join(f"D{i}\n" for i in range(8, 20))
    (folder / "ultron" / "msmarco-docids.rand.300k.txt").write_text(ids)
    (folder / "ultron" / "msmarco_fake_query_10.txt").write_text(lines("[d{i}]\tfood {name}"))
    write(
        folder / "msmarco-passage",
        collection_tsv=lines("{i}\t{name} is a food."),
        queries_train_tsv=lines("{i}\twhat is {name}"),
        queries_dev_small_tsv=lines("1{i}\twho eats {name}"),
        qrels_train_tsv=lines("{i}\t0\t{i}\t1"),
        qrels_dev_small_tsv=lines("1{i}\t0\t{i}\t1"),
    )


def write_authors(root: Path) -> Path:
    """The authors' archive, made with a tiny T5; returns the folder of the T5."""
    write(
        root / "data" / "NQ320K-authors",
        collection_tsv=lines("{i}\t{name}\t\t{name} is a food."),
        queries_test_tsv=lines("{i}\twhat is {name}"),
        qrels_test_tsv=lines("{i}\t0\t{i}\t1"),
    )
    torch.manual_seed(0)
    tiny = Tiny([*FOODS, *TASTES]).t5()
    tiny.model.save_pretrained(root / "t5")
    tiny.tokenizer.save_pretrained(root / "t5")
    tokenizer = load_pretrained(root / "t5").tokenizer
    rows = np.full((len(NAMES), 8), -1, np.int32)
    for row, name in zip(rows, NAMES, strict=True):
        terms = (f"{term} ," for term in name.split())
        tokens = [0, *(token for term in terms for token in tokenizer(term)["input_ids"]), 1]
        row[: len(tokens)] = tokens
    (root / "downloads" / "tsgen").mkdir(parents=True)
    rows.tofile(root / "downloads" / "tsgen" / "codes.mmp")
    state = {f"plm.{name}": weight for name, weight in tiny.model.state_dict().items()}
    torch.save({"config": {}, "model": state}, root / "downloads" / "tsgen" / "best")
    return root / "t5"


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of someone who has downloaded all and followed the page's shell commands."""
    root = tmp_path_factory.mktemp("owner")
    write_downloads(root / "downloads")
    write_authors(root)
    for command in COMMANDS:
        words = shlex.split(command)
        if words[0] not in ("tsgen", "torchrun"):
            shell = subprocess.run(
                command, shell=True, cwd=root, env=os.environ | {"PWD": str(root)}
            )
            assert shell.returncode == 0, command
        elif words[1] == "split":
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(root)
                assert CliRunner().invoke(app, words[1:]).exit_code == 0, command
    return root


def test_the_shapes_are_those_of_the_page(owner: Path) -> None:
    ids = (owner / "data" / "MS300K" / "docids.txt").read_text().split()
    assert sorted(ids) == sorted(f"D{i}" for i in range(12))
    assert (owner / "data" / "nq320k-shards" / "seen.ids").is_file()
    text = PAGE.read_text("utf-8")
    named = [*(owner / "downloads").rglob("*.*")]
    assert named
    assert [path.name for path in named if path.is_file() and path.name not in text] == []


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=COMMANDS)
def test_each_command(number: int, owner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(COMMANDS[number])
    if words[: len(TORCHRUN)] == TORCHRUN:
        words = ["tsgen", *words[len(TORCHRUN) :]]
    if words[0] != "tsgen" or words[1] == "split":
        return  # done already
    words = [str(owner / "t5") if word == "google-t5/t5-base" else word for word in words]
    monkeypatch.chdir(owner)
    monkeypatch.setenv("TSGEN_CACHE", str(owner / "cache"))
    monkeypatch.setenv("COLUMNS", "400")
    planned = words[1] == "reproduce"
    extra = ["--dry-run"] if planned and "--dry-run" not in words else []
    if words[1] == "evaluate":
        first = next(c for c in COMMANDS if "import-authors" in c)
        test_each_command(COMMANDS.index(first), owner, monkeypatch)
    done = CliRunner().invoke(app, [*words[1:], *extra])
    assert done.exit_code == 0, f"{done.output}\n{done.exception!r}"
    if planned:
        rows = words[words.index("--rows") + 1].split(",") if "--rows" in words else None
        for row in rows or read_experiment(words[2]).specs("paper"):
            assert row in done.stdout
        assert "GPU hours" in done.stdout
        assert "paper" in done.stdout
    if words[1] == "evaluate":
        figures = json.loads((owner / "authors.json").read_text())
        assert figures["rows"][0]["values"]["n"] == len(NAMES)


def test_the_papers_figures_on_the_page_are_those_of_the_experiments() -> None:
    text = PAGE.read_text("utf-8")
    known = {
        ("table1", "NQ320K", "TSGen"): ("M@10", "R@1", "R@100"),
        ("table1", "MS300K", "TSGen"): ("M@10", "R@1", "R@100"),
        ("table2", "NQ320K", "TSGen"): ("seen M@10", "unseen M@10", "all M@10"),
        ("table2", "MS300K", "TSGen"): ("seen M@10", "unseen M@10", "all M@10"),
        ("table4", "MSMARCO", "TSGen"): ("M@10",),
        ("table6", "NQ320K", "as a sequence"): ("M@10",),
        ("table6", "NQ320K", "one iteration"): ("M@10",),
    }
    for (table, data, row), measures in known.items():
        figures = read_experiment(table).expected(data)[row]
        for measure in measures:
            assert f"{figures[measure]:.3f}".lstrip("0") in text, (table, measure)
