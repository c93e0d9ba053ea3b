"""A stage's output: a folder with `manifest.json` and data files, complete or not there at all.

`stage(folder, …)` runs the work in a folder beside the target, writes the manifest last, renames.
The same inputs skip the work. A killed stage leaves its working folder, and the next call with the
same inputs hands it back to the work function, which may go on from the pieces it finds there (each
written by `write_beside`, so that a piece is whole or not there). What lies in its `logs` (times,
events) is not the same in any two runs and not in the manifest.

Of several processes (torchrun) the first one makes the folder. The others do the same work in a
folder that is thrown away, for there may be training inside that needs them all, and then read the
first one's.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version as installed_version
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, TypeVar

import orjson
from safetensors import SafetensorError

from tsgen import parallel as processes
from tsgen.config import StageConfig
from tsgen.errors import ArtifactError, TsgenError
from tsgen.parallel import agreed
from tsgen.progress import show
from tsgen.version import __version__

MANIFEST = "manifest.json"
LOGS = "logs"
FORMAT = 2
PIECE = "piece"
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


def stage_key(kind: str, config: Mapping[str, Any], inputs: Mapping[str, str], seed: int) -> str:
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
    keep_pieces: bool = False,
) -> Manifest:
    """Make `folder` by calling `work(partial_folder)`, unless it was made from the same inputs.

    A folder of the same kind made from other inputs is replaced; anything else in the way is an
    error. If the work fails for want of good input or of disk space, nothing of it stays; with
    `keep_pieces`, for work of hours, its pieces wait until there is space again.
    """
    wanted = Manifest(kind, config.model_dump(mode="json"), dict(inputs), seed, _versions(), {})
    folder = folder.resolve()  # so that "." has a name
    try:
        if processes.rank():
            _follow(work)
        else:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with _locked(folder):
                _make(folder, work, wanted, keep_pieces)
        agreed(None)  # the folder is there
    except (OSError, SafetensorError) as error:
        where = getattr(error, "filename", None) or folder
        raise ArtifactError(
            f"{where}: {getattr(error, 'strerror', None) or error}; {folder} was not made. "
            "Check the path, its permissions and the free space, then run the command again."
        ) from error
    return read_manifest(folder)


def open_artifact(folder: Path, kind: str | None = None) -> Manifest:
    """The manifest of a complete folder; names the file that is missing or damaged."""
    manifest = read_manifest(folder)
    if kind is not None and manifest.kind != kind:
        raise ArtifactError(
            f"{folder}: holds {manifest.kind!r}, expected {kind!r}. Choose another folder."
        )
    _check(folder, manifest, hash_up_to=HASH_ON_OPEN)
    return manifest


def forget(folder: Path, names: Iterable[str]) -> None:
    """Remove files from a folder and from its manifest, if it has one: from that first."""
    names = list(names)
    if (folder / MANIFEST).is_file():
        manifest = read_manifest(folder)
        files = {name: facts for name, facts in manifest.files.items() if name not in names}
        _write_manifest(folder, replace(manifest, files=files))
    for name in names:
        (folder / name).unlink(missing_ok=True)


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
        if int(values["format"]) != FORMAT:
            raise ArtifactError(_of_another_format(folder, values))
        values["files"] = {name: (size, digest) for name, (size, digest) in values["files"].items()}
        return Manifest(**values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArtifactError(f"{path}: not a readable manifest ({error!r}). {_REMAKE}") from None


def cache_folder() -> Path:
    """Where fitted stages are kept: the folder named by TSGEN_CACHE, or ~/.cache/tsgen."""
    return Path(os.environ.get("TSGEN_CACHE") or "~/.cache/tsgen").expanduser()


def hash_file(path: Path) -> str:
    """The sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_strings(*parts: str) -> str:
    """One sha256 over several strings, for use as an input hash."""
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


@contextmanager
def write_beside(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder that takes the place of `path` if the body succeeds.

    A symbolic link stays, and the file that it names is replaced. What is no regular file (a
    terminal, a named pipe, another device) is written to as it is, once the body has succeeded.
    """
    descriptor = descriptor_of(path)
    if descriptor is not None or (path.exists() and not path.is_file() and not path.is_dir()):
        with TemporaryDirectory() as folder:
            beside = Path(folder, path.name)
            yield beside
            _copy_into(beside, path if descriptor is None else descriptor)
        return
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield beside
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def descriptor_of(path: Path) -> int | None:
    """The open file of this process that a path means, e.g. 1 for `/dev/stdout` and for links to
    it; None for any other path."""
    own = re.compile(rf"/(?:dev/fd|proc/(?:self|thread-self|{os.getpid()})/fd)/([0-9]+)")
    name = path.absolute()
    for _ in range(40):  # as many links as Linux follows
        if found := own.fullmatch(os.path.normpath(name)):
            return int(found[1])
        if not name.is_symlink():
            return None
        name = name.parent / name.readlink()
    return None


def _copy_into(made: Path, target: Path | int) -> None:
    """Write a finished file's bytes into a device, a named pipe or an open descriptor."""
    sys.stdout.flush()
    with made.open("rb") as source, open(target, "wb", closefd=isinstance(target, Path)) as into:
        shutil.copyfileobj(source, into)


def _of_another_format(folder: Path, values: Mapping[str, Any]) -> str:
    found = int(values["format"])
    remedy = "Run: pip install -U tsgen-ir"
    if found < FORMAT:
        remedy = (
            "Remove the folder and make it again with the command that made it, e.g. "
            f"tsgen index DATA --out {folder}"
        )
    return (
        f"{folder}: format {found} made by tsgen {values['versions']['tsgen']}, this is tsgen "
        f"{__version__} with format {FORMAT}. {remedy}"
    )


_REMAKE = "Remove the folder and run the command again."
_KEY = 16  # characters of the key in the name of a working folder


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


def _make(folder: Path, work: Callable[[Path], None], wanted: Manifest, keep_pieces: bool) -> None:
    """The folder as wanted, unless it is there."""
    shutil.rmtree(_old(folder), ignore_errors=True)
    filled = folder.exists() and any(folder.iterdir())
    if filled and open_artifact(folder, wanted.kind).key == wanted.key:
        agreed(False)
        return
    partial = folder.with_name(f".{folder.name}.{wanted.key[:_KEY]}.partial")
    _sweep(folder, partial)
    if agreed(not (partial / MANIFEST).exists()):  # else killed just before the renaming
        _run(work, partial, wanted, keep_pieces)
    _replace(folder, partial)


def _follow(work: Callable[[Path], None]) -> None:
    """What another process does while the first one makes a folder."""
    if agreed(False):
        with TemporaryDirectory() as thrown_away:
            work(Path(thrown_away))


def _run(work: Callable[[Path], None], partial: Path, wanted: Manifest, keep_pieces: bool) -> None:
    """The work, perhaps on the pieces of a killed run with the same key; then the manifest."""
    partial.mkdir(exist_ok=True)
    try:
        work(partial)
        _write_manifest(partial, replace(wanted, files=_files(partial)))
    except (TsgenError, OSError, SafetensorError) as error:
        if isinstance(error, TsgenError) or not keep_pieces:
            shutil.rmtree(partial)
        raise


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    with write_beside(folder / MANIFEST) as beside:
        beside.write_text(json.dumps(asdict(manifest), indent=1) + "\n", encoding="utf-8")


def _sweep(folder: Path, partial: Path) -> None:
    """Remove what a killed run left: half-written pieces, and working folders of other keys."""
    for half_written in partial.rglob(".*"):  # ours, and those of safetensors
        if half_written.is_file():
            half_written.unlink()
    working = re.compile(rf"\.{re.escape(folder.name)}\.[0-9a-f]{{{_KEY}}}\.partial")
    for other in folder.parent.iterdir():
        if other != partial and working.fullmatch(other.name):
            shutil.rmtree(other)


def _files(partial: Path) -> dict[str, tuple[int, str]]:
    paths = sorted(path for path in partial.rglob("*") if path.is_file())
    names = [path.relative_to(partial) for path in paths]
    return {
        name.as_posix(): (path.stat().st_size, hash_file(path))
        for name, path in zip(names, paths, strict=True)
        if LOGS not in name.parts
    }


def _versions() -> dict[str, str]:
    return {"tsgen": __version__} | {name: installed_version(name) for name in LIBRARIES}


def _replace(folder: Path, partial: Path) -> None:
    """Put the finished folder in the target's place."""
    if folder.exists():
        folder.rename(_old(folder))
    partial.rename(folder)
    shutil.rmtree(_old(folder), ignore_errors=True)


def _old(folder: Path) -> Path:
    """Where the previous folder waits while the new one takes its place."""
    return folder.with_name(f".{folder.name}.old")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock beside the folder, so two commands never build the same stage at once."""
    path = folder.with_name(f".{folder.name}.lock")
    while True:
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                show(f"waiting for another process that makes {folder.name}", 0)
                fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_still(path, lock.fileno()):
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return


def _is_still(path: Path, file: int) -> bool:
    """Whether the path still names the open file: its last holder may have removed it meanwhile."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


# Long work in numbered pieces, each a file that is whole or not there.

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PieceFormat:
    """How the result of a piece of work is written to a file and read back."""

    suffix: str
    write: Callable[[BinaryIO, Any], None]
    read: Callable[[Path], Any]


def in_pieces(
    items: Iterable[T],
    work: Callable[[Sequence[T], int], Any],
    folder: Path,
    size: int,
    name: str = PIECE,
    form: PieceFormat | None = None,
) -> Iterator[Any]:
    """Do work on many items piece by piece, going on after the pieces that `folder` has already.

    Args:
        items: All items, the same in every call; those of finished pieces are skipped.
        work: Called with the items of a piece and the position of the first among all items.
        folder: Where `<name>-000000` and so on are kept, each written beside and renamed.
        size: Items a piece: what a killed run loses at the most.
        name: How the files of the pieces begin.
        form: How a result is written and read; JSON lines unless given, for an iterable of rows.

    Yields:
        The result for each piece, as it is read back from its file.
    """
    form = form or JSON_LINES
    for number, piece in enumerate(_slices(items, size)):
        path = folder / f"{name}-{number:06}{form.suffix}"
        if not path.exists():
            result = work(piece, number * size)
            with write_beside(path) as beside, beside.open("wb") as file:
                form.write(file, result)
        yield form.read(path)


def piece_files(folder: Path, name: str = PIECE) -> list[Path]:
    """The files of all pieces in order."""
    return sorted(folder.glob(f"{name}-[0-9]*"))


def remove_pieces(folder: Path, name: str = PIECE) -> None:
    """Remove the files of all pieces, once what was made of them is written."""
    for path in piece_files(folder, name):
        path.unlink()


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    """Write one JSON value a line, to a file beside that takes the place of `path` at the end."""
    with write_beside(path) as beside, beside.open("wb") as file:
        _dump_lines(file, rows)


def read_lines(path: Path) -> Iterator[Any]:
    """Read what `write_lines` wrote, value by value."""
    with path.open("rb") as file:
        yield from map(orjson.loads, file)


def _dump_lines(file: BinaryIO, rows: Iterable[Any]) -> None:
    for row in rows:
        file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def _slices(items: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    rest = iter(items)
    while piece := list(islice(rest, size)):
        yield piece


JSON_LINES = PieceFormat(".jsonl", _dump_lines, lambda path: list(read_lines(path)))
