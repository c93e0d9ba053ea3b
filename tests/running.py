"""Commands as processes that can be killed, forked from a server that has everything imported."""

import multiprocessing
import os
import resource
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

PRELOADED = ["running", "tsgen.cli.main", "tsgen.corpus.load", "tsgen.evaluate.compare"]


def start(work: Path, *arguments: str, file_size: int | None = None) -> BaseProcess:
    """Start `tsgen …` with its output in `work`/stdout and stderr; `file_size` limits its files."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([*PRELOADED, "tsgen.baselines.bm25"])
    process = server.Process(target=_tsgen, args=(work, arguments, file_size))
    process.start()
    return process


def finish(work: Path, *arguments: str, file_size: int | None = None) -> int | None:
    """Run `tsgen …` to its end; its exit code."""
    process = start(work, *arguments, file_size=file_size)
    process.join()
    return process.exitcode


def _tsgen(work: Path, arguments: tuple[str, ...], file_size: int | None) -> None:
    work.mkdir(exist_ok=True)
    with (work / "stdout").open("w") as out, (work / "stderr").open("w") as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
    if file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    sys.argv = ["tsgen", *arguments]
    from tsgen.cli.main import run

    run()
