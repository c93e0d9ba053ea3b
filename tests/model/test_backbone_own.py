"""An architecture of somebody's own: one file, which our own files know nothing of."""

import json
from pathlib import Path

import own_backbone
import pytest
import torch
from own_backbone import Bag
from typer.testing import CliRunner

from fitted import write_bert, write_foods
from tsgen.cli.main import app
from tsgen.errors import ConfigError
from tsgen.model.backbone import BACKBONES, architecture, backbone_version
from tsgen.retrieve.engine import Engine
from tsgen.settings import ModelConfig


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fitted by the command line, with nothing but the settings saying which backbone it is."""
    work = tmp_path_factory.mktemp("own")
    foods = write_foods(work / "set", "train", "dev", "test")
    settings = [
        "model.backbone=bag",
        "model.spelling=word",
        f"model.encoder={write_bert(work / 'bert')}",
        "terms.weights=tfidf",
        "terms.n=4",
        "train.batch_size=20",
        "train.epochs=60",
        "train.learning_rate=1e-2",
        "train.encoder_learning_rate=1e-2",
        "train.freeze_embeddings=false",
    ]
    flags = [part for one in settings for part in ("--set", one)]
    places = ["--out", str(work / "engine"), "--cache", str(work / "cache")]
    result = CliRunner().invoke(app, ["fit", str(foods), *places, "--preset", "tiny", *flags])
    assert result.exit_code == 0, result.output
    return work / "engine"


def test_an_engine_with_it_is_fitted_and_searched(engine: Path) -> None:
    command = ["search", str(engine), "what is sour rice", "-k", "1", "--json", "-"]
    found = json.loads(CliRunner().invoke(app, command).stdout)
    assert found[0]["hits"][0]["document"] == "d3"


def test_it_is_loaded_with_its_weights(engine: Path) -> None:
    backbone = Engine.load(engine).generator.backbone
    assert isinstance(backbone, Bag)
    torch.manual_seed(0)
    targets = torch.tensor([[1, 2, 0]])
    cache, node, first = backbone.encode(["sour rice"])
    _, last = backbone.step(cache, node, targets[0, :2], torch.tensor([2]))
    whole = backbone(["sour rice"], targets)[0]
    torch.testing.assert_close(backbone.logits(torch.cat((first, last))), whole[[0, 2]])


def test_its_code_is_part_of_cache_keys() -> None:
    assert BACKBONES.code_version("bag")
    assert backbone_version(ModelConfig(backbone="bag"))
    assert backbone_version(ModelConfig(backbone="mini"))  # its weights come with the package
    assert not backbone_version(ModelConfig(backbone="mini-flat"))


def test_any_other_name_is_a_model_of_transformers() -> None:
    names = ["mini", "mini-flat", "minilm", "flan-t5-small", "smollm2", "bag"]
    assert [architecture(name).name for name in names] == names
    assert architecture("google-t5/t5-base").name == "transformers"
    assert architecture("/some/folder").name == "transformers"


def test_a_backbone_says_what_it_lacks() -> None:
    class Half(own_backbone.Backbone):
        pass

    with pytest.raises(TypeError, match=r"abstract methods.*encode.*step"):
        Half()  # type: ignore[abstract]


def test_an_unknown_backbone() -> None:
    with pytest.raises(ConfigError, match="cannot load the backbone '/no/such'"):
        architecture("/no/such").require(ModelConfig(backbone="/no/such"))
