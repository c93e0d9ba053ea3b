"""What TensorBoard shows of a training run: loss, learning rate and validation, step by step.

It is an extra: without the package nothing is written, and the learning curve stays.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from tsgen import processes
from tsgen.errors import MissingExtraError

PACKAGE = "tensorboard"


def require_tensorboard() -> None:
    """An error with the pip command where the package is not there."""
    if find_spec(PACKAGE) is None:
        raise MissingExtraError("--tensorboard", PACKAGE)


class Events:
    """An event file in a folder, opened at a step: later ones of an interrupted run are void."""

    def __init__(self, folder: Path, first: int) -> None:
        self._writer: Any = None
        if find_spec(PACKAGE) is not None and not processes.rank():
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(folder, purge_step=first + 1)

    def add(self, step: int, loss: float, rate: float, figure: float | None) -> None:
        """The figures of one step; not every step is validated."""
        if self._writer is None:
            return
        self._writer.add_scalar("loss", loss, step)
        self._writer.add_scalar("learning rate", rate, step)
        if figure is not None:
            self._writer.add_scalar("validation", figure, step)
            self._writer.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
