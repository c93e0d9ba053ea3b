"""tsgen-mini: the pre-trained generator that comes with the package. Its card is beside it."""

from collections.abc import Mapping
from pathlib import Path

from tsgen.artifact import open_artifact, stage
from tsgen.config import StageConfig
from tsgen.model.mini import WEIGHTS_FILE, Mini

FOLDER = Path(__file__).parent.parent / "shipped" / "mini"
KIND = "tsgen-mini"


def tsgen_mini(folder: Path = FOLDER) -> Path:
    """The folder with its files, after checking their hashes."""
    open_artifact(folder, KIND)
    return folder


def weights_hash() -> str:
    """The sha256 of its weights: what is made with them depends on it."""
    _, digest = open_artifact(FOLDER, KIND).files[WEIGHTS_FILE]
    return digest


def ship(model: Path, inputs: Mapping[str, str], folder: Path = FOLDER) -> None:
    """Make a saved backbone the one that comes with the package."""
    backbone = Mini.load(model)
    stage(folder, backbone.save_small, kind=KIND, config=StageConfig(), inputs=inputs)
