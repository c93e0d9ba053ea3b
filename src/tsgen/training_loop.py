"""The training loop of every model: it resumes exactly, and keeps the best weights.

Every step draws its randomness from (seed, step) alone, and a checkpoint is written at every
validation, so that a resumed run ends in the same weights as an undisturbed one.

Accelerate finds the devices: a CPU in float32, a GPU in bfloat16 where that is fast, or as many as
torchrun starts processes for. Then each takes its share of a batch, gradients are averaged, and the
first process alone validates and writes.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tsgen import parallel as processes
from tsgen.artifact import LOGS, write_beside
from tsgen.errors import MissingExtraError
from tsgen.parallel import agreed
from tsgen.progress import show

# Checkpoints: weights, optimiser and progress in one safetensors file, without pickle.


def save_weights(path: Path, module: torch.nn.Module) -> None:
    """A module's state, written beside and renamed."""
    with write_beside(path) as beside:
        save_file(_state(module), beside)


def load_weights(path: Path, module: torch.nn.Module) -> None:
    """Load a saved state into a module of the same shape."""
    _restore(module, load_file(path))


def save_checkpoint(
    path: Path,
    module: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Mapping[str, Any],
) -> None:
    """Write the module, the moments of the optimiser, and `progress` as JSON."""
    tensors = {f"module.{name}": tensor for name, tensor in _state(module).items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": value for name, value in moments.items()}
    with write_beside(path) as beside:
        save_file(tensors, beside, metadata={"progress": json.dumps(dict(progress))})


def load_checkpoint(
    path: Path, module: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Restore what `save_checkpoint` wrote; returns its `progress`."""
    tensors = load_file(path)
    prefix = "module."
    _restore(module, {n[len(prefix) :]: t for n, t in tensors.items() if n.startswith(prefix)})
    state = optimizer.state_dict()
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, moment = name.split(".")
            state["state"].setdefault(int(index), {})[moment] = value
    optimizer.load_state_dict(state)
    with safe_open(path, framework="pt") as file:
        progress: dict[str, Any] = json.loads(file.metadata()["progress"])
    return progress


def _state(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Tensors by name; a tensor with several names (tied embeddings) has only the first."""
    first: dict[int, str] = {}
    state = module.state_dict()
    for name, tensor in state.items():
        first.setdefault(tensor.data_ptr() if tensor.numel() else id(tensor), name)
    return {name: state[name].contiguous() for name in first.values()}


def _restore(module: torch.nn.Module, state: Mapping[str, torch.Tensor]) -> None:
    """Load a state of `_state`; names of tied tensors may be missing, no other ones."""
    module.load_state_dict(state, strict=state.keys() != _state(module).keys())


# TensorBoard: loss, learning rate and validation figure of each step.
#
# The package is optional: without it no events are written. The learning curve is always there.

PACKAGE = "tensorboard"


def require_tensorboard() -> None:
    """Raise an error with the pip command where TensorBoard is not installed."""
    if find_spec(PACKAGE) is None:
        raise MissingExtraError("--tensorboard", PACKAGE)


class Events:
    """An event file in a folder; events of an interrupted run after step `first` are void."""

    def __init__(self, folder: Path, first: int) -> None:
        self._writer: Any = None
        if find_spec(PACKAGE) is not None and not processes.rank():
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(folder, purge_step=first + 1)

    def add(self, step: int, loss: float, rate: float, figure: float | None) -> None:
        """Write the figures of one step; `figure` is None for a step without a validation."""
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


CHECKPOINT = "checkpoint.safetensors"
BEST = "best.safetensors"
CURVE = "learning_curve.jsonl"
TIME = "training.json"
CLIP = 1.0  # the largest norm of a step's gradient

Report = Callable[[int, int, float | None, float | None], None]
"""Called with (step, steps, loss, validation figure) after each step. The first call has the step
to start from, no loss, and the best figure so far."""


@dataclass(slots=True)
class TrainingLoop:
    """Trains a module until its steps are over or its validation figure stops rising.

    With `minutes` the time decides instead: learning rates follow the share of the minutes that has
    passed, validations and interrupted runs included, and training ends when they have passed.

    Each group of the optimizer has a `peak`, its highest learning rate. `folder` gets the
    checkpoint, the best weights and the learning curve; its logs get the training time and, where
    it is installed, the events of TensorBoard.
    """

    module: torch.nn.Module
    optimizer: torch.optim.Optimizer
    steps: int
    warm_up: float  # share of all steps
    validate_every: int
    patience: int  # validations without a better figure
    seed: int
    folder: Path
    report: Report
    since: float = field(default_factory=time.monotonic)  # when this process began to train
    minutes: float | None = None  # in place of steps and patience
    parts: int = 1  # of a batch, whose gradients are added up before a step
    best: float = -1.0
    _misses: int = 0
    _seconds: float = 0.0  # of the processes before this one
    _curve: list[dict[str, Any]] = field(default_factory=list)
    _losses: list[float] = field(default_factory=list)  # since the last validation
    _accelerator: Accelerator = field(default_factory=lambda: accelerator())

    def run(self, loss: Callable[..., torch.Tensor], validate: Callable[[], float]) -> float:
        """Train from the last checkpoint if there is one; returns the best validation figure.

        The module ends up with the best weights.

        Args:
            loss: step → the loss of its batch; with several parts, (step, part) → what a part adds
                to that loss.
            validate: gives the validation figure, of which higher is better.
        """
        self.folder = agreed(self.folder)
        objective = self._accelerator.prepare_model(_Objective(self.module, loss))
        done = self._resume(validate)
        share = self._share(done)
        self.report(done, self.steps, None, self.best)
        with Events(self.folder / LOGS, done) as events:
            while share < 1 and (self.minutes or self._misses < self.patience):
                self._losses.append(self._step(done, objective, share))
                done += 1
                share = self._share(done)
                due = done % self.validate_every == 0 or share >= 1
                figure = self._validate(done, validate) if due else None
                rates = [group["lr"] for group in self.optimizer.param_groups]
                events.add(done, self._losses[-1], max(rates), figure)
                self.report(done, self.steps, self._losses[-1], figure)
                if due:
                    self._losses.clear()
        load_weights(self.folder / BEST, self.module)
        self._accelerator.wait_for_everyone()  # the first process goes on to remove the file
        self.module.eval()
        return self.best

    def _resume(self, validate: Callable[[], float]) -> int:
        path = self.folder / CHECKPOINT
        if not agreed(path.exists()):  # the first best is the untrained
            self._validate(0, validate)
            return 0
        progress = load_checkpoint(path, self.module, self.optimizer)
        self.best, self._misses = progress["best"], progress["misses"]
        self._curve, self._seconds = progress["curve"], progress["seconds"]
        return int(progress["step"])

    def _share(self, done: int) -> float:
        """The share of the training that is over; with `minutes`, also estimates `steps`."""
        if self.minutes is None:
            return done / self.steps if self.steps else 1.0
        share = agreed(self._spent() / (60 * self.minutes))
        if done:
            self.steps = max(done, round(done / share))
        return share

    def _spent(self) -> float:
        """The training seconds of this process and of the interrupted ones before it."""
        return self._seconds + time.monotonic() - self.since

    def _step(self, step: int, objective: torch.nn.Module, share: float) -> float:
        torch.manual_seed(self.seed * 1_000_003 + step + processes.rank() * 2**32)
        self.module.train()
        for group in self.optimizer.param_groups:
            by_steps = schedule(step, self.steps, self.warm_up)
            by_time = schedule_by_share(share, self.warm_up)
            group["lr"] = group["peak"] * (by_time if self.minutes else by_steps)
        self.optimizer.zero_grad(set_to_none=True)
        value = self._gradients(step, objective)
        self._accelerator.clip_grad_norm_(self.module.parameters(), CLIP)
        self.optimizer.step()
        mean: torch.Tensor = self._accelerator.reduce(value, "mean")
        return mean.item()

    def _gradients(self, step: int, objective: torch.nn.Module) -> torch.Tensor:
        """Compute the loss of a step and its gradients, part by part; processes exchange gradients
        after the last part only."""
        numbers = [(step,)] if self.parts == 1 else [(step, part) for part in range(self.parts)]
        values = []
        for arguments in numbers:
            last = arguments is numbers[-1]
            with nullcontext() if last else self._accelerator.no_sync(objective):
                value = objective(*arguments)
                self._accelerator.backward(value)
            values.append(value.detach())
        return torch.stack(values).sum()

    def _validate(self, step: int, validate: Callable[[], float]) -> float:
        self.module.eval()
        with torch.inference_mode():
            figure = agreed(0.0 if processes.rank() else validate())
        better = figure > self.best
        self.best, self._misses = (figure, 0) if better else (self.best, self._misses + 1)
        mean = sum(self._losses) / len(self._losses) if self._losses else None
        self._curve.append({"step": step, "of": self.steps, "loss": mean, "figure": figure})
        if not processes.rank():
            self._keep(step, better)
        agreed(None)  # whoever reads these files next finds them written
        return figure

    def _keep(self, step: int, better: bool) -> None:
        if better:
            save_weights(self.folder / BEST, self.module)
        seconds = self._spent()
        progress: Mapping[str, Any] = {
            "step": step, "best": self.best, "misses": self._misses, "curve": self._curve,
            "seconds": seconds,
        }  # fmt: skip
        save_checkpoint(self.folder / CHECKPOINT, self.module, self.optimizer, progress)
        with write_beside(self.folder / CURVE) as beside:
            beside.write_text("".join(json.dumps(point) + "\n" for point in self._curve))
        with write_beside(self.folder / LOGS / TIME) as beside:
            beside.write_text(json.dumps({"steps": step, "seconds": seconds}) + "\n")


class _Objective(torch.nn.Module):
    """The loss as a forward pass, so that accelerate wraps every call of the module in it."""

    def __init__(self, module: torch.nn.Module, loss: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.module, self._loss = module, loss

    def forward(self, *step: int) -> torch.Tensor:
        return self._loss(*step)


def accelerator() -> Accelerator:
    """Accelerate on the devices found: bfloat16 on a GPU that computes in it, else float32.

    A CPU without instructions for bfloat16 is a hundred times slower in it.
    """
    gpu = torch.cuda.is_available()
    fast = gpu and torch.cuda.is_bf16_supported(including_emulation=False)
    if processes.count() > 1:
        processes.state()  # connect with our time limit, which is longer than that of accelerate
    # A loss need not touch every weight, and no weight here is a running statistic.
    wrapping = DistributedDataParallelKwargs(find_unused_parameters=True, broadcast_buffers=False)
    precision = "bf16" if fast else "no"
    return Accelerator(cpu=not gpu, mixed_precision=precision, kwargs_handlers=[wrapping])


def shard(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of a batch for this process; rows are repeated if there are more processes."""
    count = processes.count()
    return np.resize(rows, max(len(rows), count))[processes.rank() :: count]


def shown(what: str) -> Report:
    """A report that shows progress named `what`: the step, the last loss, the best figure."""
    best = -np.inf

    def report(step: int, steps: int, loss: float | None, figure: float | None) -> None:
        nonlocal best
        best = max(best, -np.inf if figure is None else figure)
        last = "" if loss is None else f"loss {loss:.3f}, "
        show(what, step, steps, f"{last}best validation {best:.3f}")

    return report


def training_seconds(stage: Path) -> float:
    """The seconds that the training of a finished stage took, without its interruptions."""
    seconds: float = json.loads((stage / LOGS / TIME).read_text())["seconds"]
    return seconds


def remove_checkpoint(folder: Path) -> None:
    """Remove the files that only a resumed run needs; the learning curve stays."""
    for name in (CHECKPOINT, BEST):  # in this order: a checkpoint without its best is no use
        (folder / name).unlink(missing_ok=True)


def schedule(step: int, steps: int, warm_up: float) -> float:
    """The share of the peak learning rate: linear up over the warm-up, then linear down to zero."""
    up = max(int(steps * warm_up), 1)
    return min((step + 1) / up, (steps - step) / max(steps - up, 1))


def schedule_by_share(share: float, warm_up: float) -> float:
    """The share of the peak learning rate by the share of the time that is over."""
    up = share / warm_up if warm_up else 1.0
    down = (1 - share) / (1 - warm_up) if warm_up < 1 else 1.0
    return max(min(up, down, 1.0), 0.0)
