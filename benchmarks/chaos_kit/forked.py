"""Work in a process of its own, which may die: by itself, by a signal, or at a chosen moment."""

import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tsgen.errors import TsgenError

DIED = 9  # the exit code of a process that died where it was told to
LONGEST = 120.0  # seconds for one piece of work
EVENTS = {
    "open",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.truncate",
    "os.chmod",
    "shutil.copyfile",
    "shutil.rmtree",
    "sqlite3.connect",
}
"""What a process does with files, as Python's audit hooks tell of it."""


@dataclass(frozen=True)
class Outcome:
    """How a piece of work ended: `done`, `told` (an error of ours), `traceback`, `died`, `crash` or
    `hang`; with its result or the words of its error."""

    how: str
    value: Any = None


def run(work: Callable[[], Any], dies_at: int | None = None) -> Outcome:
    """Do work in a fork of this process.

    Args:
        work: What is to be done; its result is handed back.
        dies_at: The event, by number, before which the process ends as by SIGKILL.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(work, dies_at, writing)
    os.close(writing)
    return _outcome(child, reading)


def _work(work: Callable[[], Any], dies_at: int | None, writing: int) -> None:
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        if dies_at is not None:
            _die_at(dies_at)
        found = pickle.dumps(Outcome("done", work()))
    except TsgenError as error:
        found = pickle.dumps(Outcome("told", str(error)))
    except BaseException:
        found = pickle.dumps(Outcome("traceback", traceback.format_exc()))
    try:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(found)
    finally:
        os._exit(0)


def _die_at(number: int) -> None:
    events = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal events
        if event not in EVENTS or (event == "open" and _is_read_only(args)):
            return
        events += 1
        if events == number:
            os._exit(DIED)

    sys.addaudithook(hook)


def _is_read_only(args: tuple[Any, ...]) -> bool:
    """Whether a file is opened for reading alone, which leaves nothing half done."""
    flags = args[2] if len(args) > 2 and isinstance(args[2], int) else 0
    mode = args[1] if len(args) > 1 and isinstance(args[1], str) else None
    if mode is not None:
        return mode.startswith("r") and "+" not in mode
    return not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)


def _outcome(child: int, reading: int) -> Outcome:
    end, parts = time.monotonic() + LONGEST, list[bytes]()
    os.set_blocking(reading, False)
    status: int | None = None
    while status is None:
        try:
            while part := os.read(reading, 1 << 20):
                parts.append(part)
        except BlockingIOError:
            pass
        done, found = os.waitpid(child, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(found)
        elif time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            return Outcome("hang")
        else:
            time.sleep(0.002)
    os.set_blocking(reading, True)
    while part := os.read(reading, 1 << 20):
        parts.append(part)
    os.close(reading)
    if status == DIED:
        return Outcome("died")
    if status or not parts:
        return Outcome("crash", status)
    outcome: Outcome = pickle.loads(b"".join(parts))
    return outcome
