"""A stage's output: a folder with `manifest.json` and data files, complete or not there at all.

`stage(folder, …)` runs the work in a folder beside the target, writes the manifest last, renames.
The same inputs skip the work. A killed stage leaves its working folder, and the next call with the
same inputs hands it back to the work function, which may go on from the pieces it finds there (each
written by `write_beside`, so that a piece is whole or not there). What lies in its `logs` (times,
events) is not the same in any two runs and not in the manifest.

The name of the folder is the one pointer to what it holds. A folder that is there already trades
places with the new one in a single step of the file system, so that death at any moment leaves the
old or the new. Where the file system cannot do that, the old one waits under a name of ours while
the new one takes its place, and the next call puts it back if that never happened.

The manifest has the checksums of every file (see `integrity`) and one of itself; opening a folder
checks all of them.

Of several processes (torchrun) the first one makes the folder. The others do the same work in a
folder that is thrown away, for there may be training inside that needs them all, and then read the
first one's.
"""

import ctypes
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
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
from tsgen.errors import ArtifactError, DamagedError, TsgenError
from tsgen.integrity import FileFacts, block_checksums, checksum, damage
from tsgen.owner import alone
from tsgen.parallel import agreed
from tsgen.progress import show
from tsgen.version import __version__

MANIFEST = "manifest.json"
LOGS = "logs"
FORMAT = 3
PIECE = "piece"
STORE, MARK = "collection.sqlite", "collection.mark"  # change all the time: see `retrieve.storage`
CALIBRATION = "confidence.json"  # has a checksum of its own
UNLISTED = {MANIFEST, CALIBRATION, MARK, STORE, f"{STORE}-wal", f"{STORE}-shm"}
LIBRARIES = ("numpy", "torch", "transformers", "bm25s")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What made a folder (`kind`, `config`, `inputs`, `seed`, `versions`) and what is in it."""

    kind: str
    config: Mapping[str, Any]
    inputs: Mapping[str, str]
    seed: int
    versions: Mapping[str, str]
    files: Mapping[str, FileFacts]
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
    folder = _with_a_name(folder)
    try:
        if processes.rank():
            _follow(work, folder.parent)
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


def _with_a_name(folder: Path) -> Path:
    """The folder's path with a name at its end, for "." has none; a new folder needs one."""
    try:
        resolved = folder.resolve()
        resolved.exists()
    except (OSError, RuntimeError) as error:  # a circle of symbolic links is either
        reason = getattr(error, "strerror", None) or error
        raise ArtifactError(f"{folder}: {reason}. Choose another folder.") from None
    if not resolved.name:
        raise ArtifactError(
            f"{folder}: found the root of the file system; expected a folder in it. Choose one."
        )
    return resolved


def open_artifact(
    folder: Path, kind: str | None = None, in_places: Container[str] = ()
) -> Manifest:
    """The manifest of a complete folder; names the file that is missing or damaged.

    Args:
        folder: What `stage` or `seal` wrote.
        kind: What it has to hold.
        in_places: Files of which only the size is checked now, since their parts have checksums
            of their own and are checked when they are read.
    """
    while True:
        manifest = read_manifest(folder)
        if kind is not None and manifest.kind != kind:
            raise ArtifactError(
                f"{folder}: holds {manifest.kind!r}, expected {kind!r}. Choose another folder."
            )
        problems = damaged_files(folder, manifest, in_places)
        if not problems:
            return manifest
        # Another process may have taken files away: it took them out of the manifest before.
        if read_manifest(folder) == manifest:
            raise DamagedError(f"{folder / problems[0]} {_advice(folder, manifest.kind)}")


def damaged_files(folder: Path, manifest: Manifest, in_places: Container[str] = ()) -> list[str]:
    """What is wrong with the files of a folder, a sentence for each that is missing or changed."""
    found = []
    for name, facts in manifest.files.items():
        wrong = damage(folder / name, facts, look=name not in in_places)
        if wrong is not None:
            found.append(f"{name}: {wrong}.")
    return found


def seal(folder: Path, kind: str, config: StageConfig, inputs: Mapping[str, str]) -> None:
    """Write the manifest of a folder that was filled by other means than a stage."""
    made = Manifest(kind, config.model_dump(mode="json"), dict(inputs), 0, _versions(), {})
    _finish(folder, made)


def reseal(folder: Path) -> None:
    """Tell a folder's manifest what its files are now, whatever they were."""
    _finish(folder, read_manifest(folder))


def forget(folder: Path, gone: Iterable[str]) -> None:
    """Remove files from a folder and from its manifest: from that first."""
    names = list(gone)
    with _locked(folder / MANIFEST):
        manifest = read_manifest(folder)
        files = {name: facts for name, facts in manifest.files.items() if name not in names}
        _write_manifest(folder, replace(manifest, files=files))
    for name in names:
        (folder / name).unlink(missing_ok=True)


def read_manifest(folder: Path) -> Manifest:
    """Parse a folder's manifest without looking at its other files."""
    path = folder / MANIFEST
    if not path.is_file():
        waiting = [] if folder.exists() else replaced_by(folder)
        remedy = f"An interrupted command left it as {waiting[0]}: " if waiting else ""
        remedy += "run that command again." if waiting else "Check the path."
        if any((each / "settings.json").is_file() for each in (folder, folder.parent)):
            remedy = _advice(folder, None)
        raise ArtifactError(
            f"{folder}: no {MANIFEST}; expected a folder that tsgen wrote. {remedy}"
        )
    try:
        values = json.loads(path.read_bytes())
        if int(values["format"]) != FORMAT:
            raise ArtifactError(_of_another_format(folder, values))
        if values.pop("checksum") != checksum(_as_text(values).encode()):
            raise ValueError("its checksum is another")
        values["files"] = {name: FileFacts(*facts) for name, facts in values["files"].items()}
        return Manifest(**values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(
            f"{path}: not a readable manifest ({error!r}). {_advice(folder, None)}"
        ) from None


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
            "Make another with the command that made it, under a name of its own, e.g. "
            f"tsgen index DATA --out {folder.with_name(f'{folder.resolve().name}-new')}"
        )
    return (
        f"{folder}: format {found} made by tsgen {values['versions']['tsgen']}, this is tsgen "
        f"{__version__} with format {FORMAT}. {remedy}"
    )


ENGINE = "tsgen"
KEPT = "weights"  # the folder of an engine with what weighs a document that comes later
"""The kind of folders that may hold the only copy of documents, and which can be repaired."""

_KEY = 16  # characters of the key in the name of a working folder


def _advice(folder: Path, kind: str | None) -> str:
    settings = "settings.json"  # an engine's, in whose folder those of its later bases are
    if (folder.parent / settings).is_file() and not (folder / settings).is_file():
        folder, kind = folder.parent, ENGINE
    if kind == ENGINE or (kind is None and (folder / settings).is_file()):
        return (
            f"`tsgen check {folder}` lists what is damaged, `tsgen repair {folder}` keeps what can "
            f"be kept, and `tsgen restore BACKUP {folder}` brings a backup back."
        )
    return f"Move {folder} away and run the command again: it can be made again from its inputs."


def _make(folder: Path, work: Callable[[Path], None], wanted: Manifest, keep_pieces: bool) -> None:
    """The folder as wanted, unless it is there."""
    _recover(folder)
    partial = folder.with_name(f".{folder.name}.{wanted.key[:_KEY]}.partial")
    filled = folder.exists() and any(folder.iterdir())
    if filled and open_artifact(folder, wanted.kind).key == wanted.key:
        _sweep(folder, None)
        agreed(False)
        return
    if filled:
        with alone(folder):
            pass  # rather than after the work, which may take hours
    _sweep(folder, partial)
    if agreed(not _is_complete(partial, wanted)):  # else killed just before the renaming
        _run(work, partial, wanted, keep_pieces)
    _replace(folder, partial)


def _is_complete(partial: Path, wanted: Manifest) -> bool:
    """Whether the working folder needs nothing more but its name."""
    return (partial / MANIFEST).exists() and read_manifest(partial).key == wanted.key


def _follow(work: Callable[[Path], None], parent: Path) -> None:
    """What another process does while the first one makes a folder. Its own is beside it, since
    work may look for other stages there."""
    if agreed(False):
        with TemporaryDirectory(prefix=".follower-", dir=parent) as thrown_away:
            work(Path(thrown_away))


def _run(work: Callable[[Path], None], partial: Path, wanted: Manifest, keep_pieces: bool) -> None:
    """The work, perhaps on the pieces of a killed run with the same key; then the manifest."""
    partial.mkdir(exist_ok=True)
    try:
        work(partial)
        _finish(partial, wanted)
    except (TsgenError, OSError, SafetensorError) as error:
        if isinstance(error, TsgenError) or not keep_pieces:
            shutil.rmtree(partial)
        raise


def _finish(folder: Path, made: Manifest) -> None:
    """Write the manifest of a filled folder. All files get the permissions of a new file: some
    libraries write theirs for their owner alone."""
    _write_manifest(folder, replace(made, files=_files(folder)))
    mode = stat.S_IMODE((folder / MANIFEST).stat().st_mode)
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(mode)


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    values = asdict(manifest)
    values = json.loads(json.dumps(values))  # as they will be read: tuples are lists
    values["checksum"] = checksum(_as_text(values).encode())
    with write_beside(folder / MANIFEST) as beside:
        beside.write_text(_as_text(values) + "\n", encoding="utf-8")


def _as_text(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=1)


def _sweep(folder: Path, partial: Path | None) -> None:
    """Remove what a killed run left: half-written pieces, and working folders of other keys."""
    for half_written in partial.rglob(".*") if partial else ():  # ours, and those of safetensors
        if half_written.is_file():
            half_written.unlink()
    working = re.compile(rf"\.{re.escape(folder.name)}\.[0-9a-f]{{{_KEY}}}\.partial")
    for other in folder.parent.iterdir():
        if other != partial and working.fullmatch(other.name):
            shutil.rmtree(other)


def _files(partial: Path) -> dict[str, FileFacts]:
    paths = sorted(path for path in partial.rglob("*") if path.is_file())
    names = [path.relative_to(partial) for path in paths]
    return {
        name.as_posix(): _facts(path)
        for name, path in zip(names, paths, strict=True)
        if LOGS not in name.parts and name.as_posix() not in UNLISTED
    }


def _facts(path: Path) -> FileFacts:
    return FileFacts(path.stat().st_size, hash_file(path), block_checksums(path))


def _versions() -> dict[str, str]:
    return {"tsgen": __version__} | {name: installed_version(name) for name in LIBRARIES}


def _replace(folder: Path, partial: Path) -> None:
    """Put the finished folder in the target's place, whose folder then has the other's name for a
    moment before it is removed."""
    if not folder.exists():
        partial.rename(folder)
        return
    with alone(folder):
        sync(partial)
        if exchange(partial, folder):
            shutil.rmtree(partial, ignore_errors=True)
            return
        waiting = folder.with_name(f".{folder.name}.{partial.name.split('.')[-2]}.replaced")
        folder.rename(waiting)
        partial.rename(folder)
        shutil.rmtree(waiting, ignore_errors=True)


def _recover(folder: Path) -> None:
    """Finish a replacement in several steps that was killed: put the old folder back if no new one
    has taken its place; else remove it."""
    for waiting in replaced_by(folder):
        if folder.exists():
            shutil.rmtree(waiting, ignore_errors=True)
        else:
            waiting.rename(folder)


def replaced_by(folder: Path) -> list[Path]:
    """Folders that wait for a new one to take their place under the name `folder`."""
    if not folder.parent.is_dir():
        return []
    ours = re.compile(rf"\.{re.escape(folder.name)}\.[0-9a-f]{{{_KEY}}}\.replaced")
    return sorted(path for path in folder.parent.iterdir() if ours.fullmatch(path.name))


# Two names trade what they name in one step: renameat2 with RENAME_EXCHANGE on Linux, renamex_np
# with RENAME_SWAP on macOS.

_CALLS = {"linux": ("renameat2", True), "darwin": ("renamex_np", False)}
_TRADE = 2  # the flag has the same number in both
_HERE = -100  # AT_FDCWD
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EXDEV}


def exchange(first: Path, second: Path) -> bool:
    """Let two paths trade places; False if the system or this file system cannot do that."""
    name, at_folders = _CALLS.get(sys.platform, ("", False))
    call = getattr(ctypes.CDLL(None, use_errno=True), name, None) if name else None
    if call is None:
        return False
    one, other = os.fsencode(first), os.fsencode(second)
    if at_folders:
        failed = call(_HERE, one, _HERE, other, ctypes.c_uint(_TRADE))
    else:
        failed = call(one, other, ctypes.c_uint(_TRADE))
    if not failed:
        return True
    if (number := ctypes.get_errno()) in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(second))


def sync(folder: Path) -> None:
    """Flush a folder, all that is in it and its name to the disk."""
    for path in (*folder.rglob("*"), folder, folder.parent):
        if path.is_file() or path.is_dir():
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


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
