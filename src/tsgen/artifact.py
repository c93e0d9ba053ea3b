"""A stage's output: a folder with `manifest.json` and data files, complete or not there at all.

`stage(folder, …)` runs the work in a folder beside the target, writes the manifest last and renames.
The same inputs skip the work. A killed stage leaves its working folder, and the next call with the
same inputs hands it back to the work function, which may go on from the pieces it finds there.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from tsgen.config import StageConfig
from tsgen.errors import ArtifactError, TsgenError
from tsgen.version import __version__

MANIFEST = "manifest.json"
KEY_FILE = "stage.key"
FORMAT = 1
HASH_ON_OPEN = 64 * 2**20  # files up to this size are hashed on opening, larger ones by `verify`
LIBRARIES = ("numpy", "torch", "transformers", "bm25s")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What made a folder (`kind`, `config`, `inputs`, `seed`, `versions`) and what is in it."""

    kind: str
    config: Mapping[str, Any]
    inputs: Mapping[str, str]
    seed: int
    versions: Mapping[str, str]
    files: Mapping[str, tuple[int, str]]  # name → (bytes, sha256)
    format: int = FORMAT

    @property
    def key(self) -> str:
        """The identity of the work: equal keys mean equal outputs."""
        return stage_key(self.kind, self.config, self.inputs, self.seed)


def stage_key(
    kind: str, config: Mapping[str, Any], inputs: Mapping[str, str], seed: int
) -> str:
    """A hash of everything a stage's output depends on."""
    parts = [FORMAT, kind, dict(config), dict(inputs), seed]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def stage(
    folder: Path,
    work: Callable[[Path], None],
    *,
    kind: str,
    config: StageConfig,
    inputs: Mapping[str, str],
    seed: int = 0,
) -> Manifest:
    """Make `folder` by calling `work(partial_folder)`, unless it was made from the same inputs."""
    settings = config.model_dump(mode="json")
    key = stage_key(kind, settings, inputs, seed)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        if folder.exists():
            manifest = open_artifact(folder)
            if manifest.key == key:
                return manifest
        partial = _partial_folder(folder, key)
        try:
            work(partial)
        except TsgenError:
            shutil.rmtree(partial)  # bad input: nothing half-written stays
            raise
        manifest = _describe(partial, kind, settings, inputs, seed)
        _replace(folder, partial, manifest)
    return manifest


def open_artifact(folder: Path, kind: str | None = None) -> Manifest:
    """The manifest of a complete folder; names the file that is missing or damaged."""
    manifest = read_manifest(folder)
    if kind is not None and manifest.kind != kind:
        raise ArtifactError(f"{folder}: holds {manifest.kind!r}, expected {kind!r}")
    _check(folder, manifest, hash_up_to=HASH_ON_OPEN)
    return manifest


def verify(folder: Path) -> Manifest:
    """Like `open_artifact`, but hashes every file whatever its size."""
    manifest = read_manifest(folder)
    _check(folder, manifest, hash_up_to=None)
    return manifest


def read_manifest(folder: Path) -> Manifest:
    """Parse a folder's manifest without looking at its other files."""
    path = folder / MANIFEST
    if not path.is_file():
        raise ArtifactError(
            f"{folder}: no {MANIFEST}; expected a folder that tsgen wrote. Check the path."
        )
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        found = values["format"]
        values["files"] = {name: (size, digest) for name, (size, digest) in values["files"].items()}
        manifest = Manifest(**values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArtifactError(f"{path}: not a readable manifest ({error}). {_REMAKE}") from None
    if found > FORMAT:
        made_by = manifest.versions.get("tsgen", "unknown")
        raise ArtifactError(
            f"{folder}: format {found} made by tsgen {made_by}, this is tsgen {__version__} "
            f"with format {FORMAT}. Run: pip install -U tsgen"
        )
    return manifest


def hash_file(path: Path) -> str:
    """The sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_strings(*parts: str) -> str:
    """One sha256 over several strings, for use as an input hash."""
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


@contextmanager
def write_beside(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder that takes the place of `path` if the body succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


_REMAKE = "Remove the folder and run the command again."


def _check(folder: Path, manifest: Manifest, hash_up_to: int | None) -> None:
    for name, (size, digest) in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise ArtifactError(f"{path}: missing, the manifest lists it. {_REMAKE}")
        found = path.stat().st_size
        if found != size:
            raise ArtifactError(f"{path}: {found} bytes, the manifest says {size}. {_REMAKE}")
        if (hash_up_to is None or size <= hash_up_to) and hash_file(path) != digest:
            raise ArtifactError(f"{path}: its content differs from the manifest's hash. {_REMAKE}")


def _partial_folder(folder: Path, key: str) -> Path:
    """The working folder for this key: a killed run's own if there is one, else a new one."""
    partial = folder.with_name(f".{folder.name}.partial")
    key_file = partial / KEY_FILE
    if partial.exists() and not (key_file.exists() and key_file.read_text() == key):
        shutil.rmtree(partial)
    partial.mkdir(exist_ok=True)
    key_file.write_text(key)
    return partial


def _describe(
    partial: Path, kind: str, settings: Mapping[str, Any], inputs: Mapping[str, str], seed: int
) -> Manifest:
    found = {p.relative_to(partial).as_posix() for p in partial.rglob("*") if p.is_file()}
    names = sorted(found - {KEY_FILE, MANIFEST})
    files = {n: ((partial / n).stat().st_size, hash_file(partial / n)) for n in names}
    versions = {"tsgen": __version__} | {name: installed_version(name) for name in LIBRARIES}
    return Manifest(kind, settings, dict(inputs), seed, versions, files)


def _replace(folder: Path, partial: Path, manifest: Manifest) -> None:
    """Write the manifest, then put the finished folder in the target's place."""
    fields = {name: getattr(manifest, name) for name in Manifest.__slots__}
    with write_beside(partial / MANIFEST) as beside:
        beside.write_text(json.dumps(fields, indent=1, default=dict) + "\n", encoding="utf-8")
    (partial / KEY_FILE).unlink()
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock beside the folder, so two commands never build the same stage at once."""
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
