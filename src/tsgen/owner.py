"""A folder that is open: whether it is still there, and who may replace it.

A folder is replaced in one step (`artifact.stage`), and anybody may remove it. Whoever has files of
it open would go on with files that nobody else sees, and what is written to these is lost. So an
open folder is compared with what its path names before it is read or written, and locks on the
folder itself keep changes and replacements apart:

- a change holds a shared lock while it lasts; so does a server, for as long as it runs;
- a replacement takes the lock alone, or is refused.

The lock belongs to the open directory (flock), so nothing is written for it: it works on a disk
that cannot be written, is gone with the process that held it, and leaves no file behind. On a file
system without such locks (some network disks) a replacement is not refused but noticed.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tsgen.errors import ArtifactError, OwnedError, ReplacedError

PATIENCE = 5.0  # seconds that a replacement waits for changes under way
PAUSE = 0.05
UNLOCKABLE = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


class OpenFolder:
    """A folder that stays the one it was when it was opened, or is an error."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self._handle = _open(folder)
        except OSError as error:
            raise ArtifactError(
                f"{folder}: {error.strerror}; expected a folder that tsgen wrote. Check the path."
            ) from None
        self._facts = os.fstat(self._handle)
        self._path = os.fspath(folder)

    def require(self) -> None:
        """Fail with `ReplacedError` if the path names another folder by now, or none."""
        with suppress(OSError):
            now = os.stat(self._path)  # noqa: PTH116 (this is done for every search)
            if now.st_ino == self._facts.st_ino and now.st_dev == self._facts.st_dev:
                return
        raise ReplacedError(
            f"{self.folder}: was replaced or removed since it was opened; expected the same "
            "folder. Nothing was read or written. Open it again; a server has to be started again."
        )

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Keep the folder from being replaced while something in it is changed."""
        handle = _open_again(self._path)
        try:
            if handle is not None:
                _lock(handle, fcntl.LOCK_SH)
            self.require()
            yield
        finally:
            if handle is not None:
                os.close(handle)

    def hold(self) -> None:
        """Keep the folder from being replaced until it is closed or this process ends."""
        if not _lock(self._handle, fcntl.LOCK_SH | fcntl.LOCK_NB):
            raise OwnedError(f"{self.folder}: is being replaced just now. Try again in a moment.")
        self.require()

    def close(self) -> None:
        """Close the folder, and give up its lock."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        if getattr(self, "_handle", -1) >= 0:
            with suppress(OSError):
                self.close()


@contextmanager
def alone(folder: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold a folder that nobody else holds, so that it can be replaced; `OwnedError` if somebody
    has it open to serve it, or changes it for longer than `patience` seconds."""
    handle, end = _open(folder), time.monotonic() + patience
    try:
        while not _lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if time.monotonic() > end:
                raise OwnedError(
                    f"{folder}: is in use by another process that serves or changes it, so it was "
                    "not replaced. End that process (tsgen serve), or choose another folder."
                )
            time.sleep(PAUSE)
        yield
    finally:
        os.close(handle)


def _open(folder: Path | str) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _open_again(path: str) -> int | None:
    try:
        return _open(path)
    except OSError:
        return None  # it is gone, which `require` tells


def _lock(handle: int, how: int) -> bool:
    """Lock a folder; False if another one has it, True if its file system knows no such locks."""
    try:
        fcntl.flock(handle, how)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in UNLOCKABLE:
            raise
    return True
