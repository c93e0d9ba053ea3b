"""tsgen-mini: the pre-trained generator that comes with the package. Its card is beside it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tsgen.artifact import open_artifact, stage
from tsgen.config import StageConfig
from tsgen.model.mini import CONFIG_FILE, WEIGHTS_FILE, Mini

FOLDER = Path(__file__).parent.parent / "shipped" / "mini"
KIND = "tsgen-mini"
FREE = {"dropout", "query_tokens"}  # what may be set as one likes


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


def sizes_with(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a model completed by the sizes of tsgen-mini, which they may not contradict."""
    path = FOLDER / CONFIG_FILE
    sizes: dict[str, Any] = {}
    if path.is_file():  # else `tsgen_mini` will complain
        sizes = json.loads(path.read_text())
    for name in settings.keys() & sizes.keys() - FREE:
        if settings[name] != sizes[name]:
            raise ValueError(
                f"{name} = {settings[name]!r}, but tsgen-mini, the backbone 'mini', has "
                f"{sizes[name]!r}. Leave it out, or set backbone = 'mini-flat', which is trained "
                "from a flat start in any size"
            )
    return sizes | dict(settings)
