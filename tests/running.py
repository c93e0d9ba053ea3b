"""Commands as processes that can be killed, forked from a server that has everything imported."""

import multiprocessing
import os
import resource
import signal
import sys
from fnmatch import fnmatch
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

PRELOADED = [
    "running",
    "tsgen.cli.main",
    "tsgen.corpus.load",
    "tsgen.evaluate.compare",
    "tsgen.evaluate.evaluation",
    "tsgen.baselines.bm25",
    "tsgen.retrieve.build",
    "tsgen.serve.server",
    "tsgen.terms.weigher_training",
]


def start(
    work: Path, *arguments: str, file_size: int | None = None, kill_at: str | None = None
) -> BaseProcess:
    """Start `tsgen …` with its output in `work`/stdout and stderr; `file_size` limits its files,
    and it dies when it is about to give a finished file or folder a name like `kill_at`."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(PRELOADED)
    process = server.Process(target=_tsgen, args=(work, arguments, file_size, kill_at))
    process.start()
    return process


def finish(
    work: Path, *arguments: str, file_size: int | None = None, kill_at: str | None = None
) -> int | None:
    """Run `tsgen …` to its end; its exit code."""
    process = start(work, *arguments, file_size=file_size, kill_at=kill_at)
    process.join()
    return process.exitcode


def _tsgen(
    work: Path, arguments: tuple[str, ...], file_size: int | None, kill_at: str | None
) -> None:
    work.mkdir(exist_ok=True)
    with (work / "stdout").open("w") as out, (work / "stderr").open("w") as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
    if file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    if kill_at is not None:
        Path.replace = _deadly(Path.replace, kill_at)  # type: ignore[method-assign]
        Path.rename = _deadly(Path.rename, kill_at)  # type: ignore[method-assign]
    sys.argv = ["tsgen", *arguments]
    from tsgen.cli.main import run

    run()


def _deadly(move: Any, name: str) -> Any:
    def moved(path: Path, target: Path) -> Path:
        if fnmatch(str(target), name):
            os.kill(os.getpid(), signal.SIGKILL)
        return move(path, target)

    return moved
