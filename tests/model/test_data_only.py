"""Models are data: code that comes with one is neither run nor offered to be run."""

import ast
import builtins
import json
from pathlib import Path

import pytest
from backbones import TINY

import tsgen
from tiny import word_level, write_bert
from tsgen.errors import ArtifactError, ConfigError
from tsgen.model.pretrained import load_pretrained
from tsgen.terms.encoder import empty_encoder, load_encoder

READERS = {"from_pretrained", "from_config"}
PLAIN = {"Tokenizer"}  # of the library tokenizers, which knows no code
CODE = """
from pathlib import Path
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

Path("{ran}").write_text("ran")


class Config(BertConfig):
    model_type = "foreign"


class Model(BertModel):
    config_class = Config
"""


@pytest.fixture
def with_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose `config.json` asks for code beside it; whoever is asked about it says yes."""
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "m"))

    def asked(prompt: str = "") -> str:
        (tmp_path / "asked").write_text(prompt)
        return "yes"

    monkeypatch.setattr(builtins, "input", asked)
    folder = write_bert(tmp_path / "model", word_level(["egg", "tea"]))
    (folder / "foreign.py").write_text(CODE.format(ran=tmp_path / "ran"))
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "foreign"
    config["auto_map"] = {"AutoConfig": "foreign.Config", "AutoModel": "foreign.Model"}
    config["auto_map"]["AutoModelForSeq2SeqLM"] = "foreign.Model"
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("read", [empty_encoder, lambda path: load_encoder(str(path))])
def test_an_encoder_with_code_is_refused(read, with_code: Path, tmp_path: Path) -> None:
    with pytest.raises((ArtifactError, ConfigError), match="contains custom code"):
        read(with_code)
    assert not (tmp_path / "asked").exists()
    assert not (tmp_path / "ran").exists()


def test_a_backbone_with_code_is_refused(with_code: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contains custom code"):
        load_pretrained(with_code)
    assert not (tmp_path / "asked").exists()
    assert not (tmp_path / "ran").exists()


def test_a_known_kind_is_read_without_the_code_beside_it(tmp_path: Path, with_code: Path) -> None:
    config = json.loads((with_code / "config.json").read_text()) | {"model_type": "bert"}
    (with_code / "config.json").write_text(json.dumps(config))
    model, _ = load_encoder(str(with_code))
    assert type(model).__name__ == "BertModel"
    TINY.bert2bert().save(tmp_path / "known")
    assert load_pretrained(tmp_path / "known").output_size
    assert not (tmp_path / "asked").exists()
    assert not (tmp_path / "ran").exists()


def test_every_reading_says_so() -> None:
    """Each call of transformers' readers in the package passes DATA_ONLY."""
    found = []
    for path in Path(tsgen.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr not in READERS or ast.unparse(node.func.value) in PLAIN:
                continue
            passed = {ast.unparse(each.value) for each in node.keywords if each.arg is None}
            found.append((path.name, node.lineno, "DATA_ONLY" in passed))
    assert len(found) > 10
    assert [place for *place, said in found if not said] == []
