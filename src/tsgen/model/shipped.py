"""Generators that can write the terms of any documents: tsgen-mini, which comes with the package
(its card is `tsgen/shipped/CARD.md`), and whatever `tsgen pretrain` wrote."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tsgen.artifact import hash_file, hash_strings, open_artifact, stage
from tsgen.config import StageConfig
from tsgen.errors import ConfigError
from tsgen.model.backbone import BACKBONES, Architecture, OutputSymbols
from tsgen.model.mini import (
    CONFIG_FILE,
    ENCODER_FOLDER,
    WEIGHTS_FILE,
    Mini,
    create_flat,
    encoder_tokenizer,
    load_mini,
)
from tsgen.settings import MINI, MINI_FLAT, MiniConfig, ModelConfig

FOLDER = Path(__file__).parent.parent / "shipped" / "mini"
KIND = "tsgen-mini"
MODEL = "model"  # the folder of the generator in the folder that `tsgen pretrain` wrote
_EXPECTED = "expected what `tsgen pretrain` wrote, or an engine with model.spelling=word"


def tsgen_mini(folder: Path = FOLDER) -> Path:
    """The folder with the files of tsgen-mini, after checking their hashes."""
    open_artifact(folder, KIND)
    return folder


def weights_hash() -> str:
    """The sha256 of the weights of tsgen-mini: what is made with them depends on it."""
    return open_artifact(FOLDER, KIND).files[WEIGHTS_FILE].sha256


def ship(model: Path, inputs: Mapping[str, str], folder: Path = FOLDER) -> None:
    """Make a saved backbone the one that comes with the package."""
    backbone = Mini.load(model)
    stage(folder, backbone.save_small, kind=KIND, config=StageConfig(), inputs=inputs)


def require_generator(folder: Path | None) -> Path:
    """The folder with a generator's files, if the generator can take over any documents' terms.

    Args:
        folder: The folder itself or the one above it; None stands for tsgen-mini.
    """
    if folder is None:
        return tsgen_mini()
    found = next((f for f in (folder, folder / MODEL) if (f / CONFIG_FILE).is_file()), None)
    if found is None:
        raise ConfigError(f"{folder}: no file {CONFIG_FILE} in it; {_EXPECTED}. Check the path.")
    spelling = saved_settings(found).spelling
    if spelling != "word":
        raise ConfigError(f"{found}: a generator that spells by {spelling}; {_EXPECTED}.")
    return found


def saved_settings(folder: Path) -> ModelConfig:
    """The settings `[model]` of the generator in a folder that `require_generator` returned."""
    path = folder / CONFIG_FILE
    try:
        values = json.loads(path.read_bytes())
    except ValueError as error:
        raise ConfigError(f"{path}: not valid JSON ({error}); {_EXPECTED}.") from None
    sizes = MiniConfig.from_mapping(values, source=f"{path}")
    return ModelConfig(backbone=MINI_FLAT, **sizes.model_dump())


def generator_hash(folder: Path) -> str:
    """Hash a generator's weights with the settings and the tokenizer that go with them."""
    encoder = sorted(path for path in (folder / ENCODER_FOLDER).rglob("*") if path.is_file())
    try:
        return hash_strings(
            *(hash_file(path) for path in (folder / WEIGHTS_FILE, folder / CONFIG_FILE, *encoder))
        )
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}; {_EXPECTED}.") from None


def _create(config: ModelConfig, symbols: OutputSymbols) -> Mini:
    """Tsgen-mini, which writes words. With pieces or codes to write, it keeps what it learned of
    reading queries and of deciding by them."""
    if isinstance(symbols, Sequence):
        return Mini.load(tsgen_mini(), symbols)
    backbone = create_flat(config, symbols)
    backbone.start_from(tsgen_mini())
    return backbone


def _require(_: ModelConfig) -> None:
    """Fail now if the files of tsgen-mini are damaged."""
    tsgen_mini()


def _version(_: ModelConfig) -> str:
    """Return the hash of the weights, which another release may change."""
    return weights_hash()


BACKBONES.register(
    Architecture(MINI, _create, load_mini, _require, encoder_tokenizer, _version, ready=True)
)
