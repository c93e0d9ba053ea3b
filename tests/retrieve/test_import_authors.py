"""Files of the shape in which the authors of TSGen release theirs become an engine."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from fitted import FOODS, TASTES
from tiny import Tiny
from tsgen.cli.main import app
from tsgen.corpus.load import load
from tsgen.errors import ArtifactError, DataError
from tsgen.model.pretrained import Seq2Seq, load_pretrained
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.import_authors import import_authors

SETS = [["bread", "white"], ["rice", "white", "sour"], ["tea", "sweet"], ["fish", "raw", "salt"]]
LENGTH = 10  # tokens of a row


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "NQ320k"
    folder.mkdir()
    rows = (f"{i}\t{' '.join(terms)}\t\ttext {i}\n" for i, terms in enumerate(SETS))
    (folder / "collection.tsv").write_text("".join(rows))
    return folder


@pytest.fixture
def t5(tmp_path: Path) -> Path:
    """The T5 before training, as transformers saves it."""
    torch.manual_seed(0)
    tiny = Tiny([*FOODS, *TASTES]).t5()
    tiny.model.save_pretrained(tmp_path / "t5")
    tiny.tokenizer.save_pretrained(tmp_path / "t5")
    return tmp_path / "t5"


def write_codes(path: Path, t5: Path) -> Path:
    """Rows of 0, each term's tokens and a comma, 1, and −1."""
    tokenizer = load_pretrained(t5).tokenizer
    rows = np.full((len(SETS), LENGTH), -1, np.int32)
    for row, terms in zip(rows, SETS, strict=True):
        tokens = [0, *(token for t in terms for token in tokenizer(f"{t} ,")["input_ids"]), 1]
        row[: len(tokens)] = tokens
    rows.tofile(path)
    return path


@pytest.fixture
def trained(t5: Path) -> Seq2Seq:
    """The same with other weights."""
    backbone = load_pretrained(t5)
    assert isinstance(backbone, Seq2Seq)
    torch.manual_seed(7)
    with torch.no_grad():
        for weight in backbone.model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return backbone.eval()


def write_checkpoint(path: Path, model: Any, prefix: str = "plm.") -> Path:
    """A dictionary with an object of a class that only its writer has."""
    module: Any = ModuleType("utils.util")
    config: Any = type("Config", (dict,), {"__module__": "utils.util"})
    module.Config, sys.modules["utils.util"] = config, module
    sys.modules["utils"] = ModuleType("utils")
    try:
        state = {f"{prefix}{name}": weight for name, weight in model.state_dict().items()}
        own = config(plm="t5", nbeam=100)
        own.attribute = "set"
        torch.save({"config": own, "model": state, "metrics": {"MRR@10": np.float64(0.7)}}, path)
    finally:
        del sys.modules["utils.util"], sys.modules["utils"]
    return path


def log_prob(model: Seq2Seq, query: str, terms: tuple[str, ...]) -> float:
    """By transformers' own forward pass: what the decoder says of the terms in this order."""
    ids = model.tokenizer([query], return_tensors="pt").input_ids
    text = " ".join(f"{term} ," for term in terms)
    targets = model.tokenizer([text], return_tensors="pt").input_ids
    with torch.no_grad():
        logits = model.model(input_ids=ids, labels=targets).logits[0]
    return float(logits.log_softmax(-1).gather(-1, targets[0][:, None]).sum())


def test_the_decoder_of_the_checkpoint_searches_the_released_sets(
    collection: Path, t5: Path, trained: Seq2Seq, tmp_path: Path
) -> None:
    codes = write_codes(tmp_path / "codes.mmp", t5)
    checkpoint = write_checkpoint(tmp_path / "best", trained.model)
    found = import_authors(load(collection), codes, checkpoint, str(t5), tmp_path / "engine")
    assert (found.documents, found.spelled_otherwise, found.shared) == (4, 0, 0)
    with Engine.load(tmp_path / "engine") as engine:
        sets = engine.generator.sets
        assert [list(sets.term_set(number).terms) for number in range(4)] == SETS
        for query in ("white rice", "sweet tea with bread"):
            hits = engine.search(query, 4)
            assert {hit.document_id for hit in hits} == {"0", "1", "2", "3"}
            for hit in hits:
                assert hit.reason is not None
                terms = hit.reason.terms
                assert set(terms) <= set(SETS[int(hit.document_id)])
                assert hit.score == pytest.approx(log_prob(trained, query, terms), abs=1e-3)
        assert engine.document("3").text == "text 3"


@pytest.mark.parametrize("prefix", ["plm.", "module.plm."])
def test_on_the_command_line(
    prefix: str, collection: Path, t5: Path, trained: Seq2Seq, tmp_path: Path
) -> None:
    codes = write_codes(tmp_path / "codes.mmp", t5)
    checkpoint = write_checkpoint(tmp_path / "best", trained.model, prefix)
    words = ["import-authors", str(collection), "--codes", str(codes), "--backbone", str(t5)]
    words += ["--checkpoint", str(checkpoint), "--out", str(tmp_path / "engine")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "4 documents, 9 terms, of which tsgen spells 0 otherwise" in done.stdout
    again = CliRunner().invoke(app, words)
    assert again.stdout == done.stdout
    hits = CliRunner().invoke(app, ["search", str(tmp_path / "engine"), "white rice"])
    assert hits.exit_code == 0, hits.output


def test_bad_files_are_explained(
    collection: Path, t5: Path, trained: Seq2Seq, tmp_path: Path
) -> None:
    data, out = load(collection), tmp_path / "engine"
    codes = write_codes(tmp_path / "codes.mmp", t5)
    checkpoint = write_checkpoint(tmp_path / "best", trained.model)

    def fails(
        kind: type[Exception], match: str, *, codes: Path = codes, best: Path = checkpoint
    ) -> None:
        with pytest.raises(kind, match=match):
            import_authors(data, codes, best, str(t5), out)
        assert not out.exists()

    fails(ArtifactError, "no such file", codes=tmp_path / "none")
    short = tmp_path / "short"
    short.write_bytes(codes.read_bytes()[:-4])
    fails(DataError, "no whole number of int32 for each of 4 documents", codes=short)
    shifted = tmp_path / "shifted"
    np.full((4, LENGTH), 7, np.int32).tofile(shifted)
    fails(DataError, r"row 0 begins with \[7, 7, 7\]", codes=shifted)
    text = tmp_path / "text"
    text.write_text("no checkpoint")
    fails(ArtifactError, "not readable as a checkpoint", best=text)
    torch.save({"weights": {}}, tmp_path / "other")
    fails(ArtifactError, "has no weights named 'model'", best=tmp_path / "other")
    unnamed = write_checkpoint(tmp_path / "unnamed", trained.model, "encoder.")
    fails(ArtifactError, r"expected names like plm\.shared\.weight", best=unnamed)
    larger = write_checkpoint(tmp_path / "larger", Tiny([*FOODS, *TASTES], width=64).t5().model)
    fails(ArtifactError, "has the shape", best=larger)
    deeper = write_checkpoint(tmp_path / "deeper", Tiny([*FOODS, *TASTES], layers=2).t5().model)
    fails(ArtifactError, "expected the T5 that was trained", best=deeper)


def test_nothing_in_a_checkpoint_is_executed(t5: Path, collection: Path, tmp_path: Path) -> None:
    """An object that would run a function when it is made stays what it is: inert."""
    ran = tmp_path / "ran"

    class Evil(dict[str, str]):
        def __reduce__(self) -> Any:
            return (Path.write_text, (ran, "executed"))

    codes = write_codes(tmp_path / "codes.mmp", t5)
    path = tmp_path / "evil"
    torch.save({"config": Evil(), "model": {}}, path)
    with pytest.raises(ArtifactError):
        import_authors(load(collection), codes, path, str(t5), tmp_path / "engine")
    assert not ran.exists()
