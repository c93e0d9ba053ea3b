"""One training loop for all that is learned: it resumes exactly, and keeps the best weights.

Every step draws its randomness from (seed, step) alone, and a checkpoint is written at every
validation, so that a resumed run ends in the same weights as an undisturbed one.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tsgen.artifact import write_beside
from tsgen.checkpoint import load_checkpoint, load_weights, save_checkpoint, save_weights

CHECKPOINT = "checkpoint.safetensors"
BEST = "best.safetensors"
CURVE = "learning_curve.jsonl"
CLIP = 1.0  # the largest norm of a step's gradient

Report = Callable[[int, int, float | None, float | None], None]
"""Called with (step, steps, loss, validation figure); at step 0 there is no loss yet."""


@dataclass(slots=True)
class TrainingLoop:
    """Steps on a module until they are over or its validation figure stops rising.

    Each group of the optimizer has a `peak`, its highest learning rate. The checkpoint, the best
    weights and the learning curve are files of `folder`.
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
    best: float = -1.0
    _misses: int = 0
    _curve: list[dict[str, Any]] = field(default_factory=list)
    _losses: list[float] = field(default_factory=list)  # since the last validation

    def run(self, loss: Callable[[int], torch.Tensor], validate: Callable[[], float]) -> float:
        """Train on `loss(step)`, from the last checkpoint if there is one. Leaves the best weights
        in the module and returns the best figure of `validate()`; higher is better."""
        for step in range(self._resume(validate), self.steps):
            if self._misses >= self.patience:
                break
            self._losses.append(self._step(step, loss))
            done = step + 1
            due = done % self.validate_every == 0 or done == self.steps
            figure = self._validate(done, validate) if due else None
            self.report(done, self.steps, self._losses[-1], figure)
            if due:
                self._losses.clear()
        load_weights(self.folder / BEST, self.module)
        self.module.eval()
        return self.best

    def _resume(self, validate: Callable[[], float]) -> int:
        path = self.folder / CHECKPOINT
        if not path.exists():  # the first best is the untrained
            self.report(0, self.steps, None, self._validate(0, validate))
            return 0
        progress = load_checkpoint(path, self.module, self.optimizer)
        self.best, self._misses = progress["best"], progress["misses"]
        self._curve = progress["curve"]
        return int(progress["step"])

    def _step(self, step: int, loss: Callable[[int], torch.Tensor]) -> float:
        torch.manual_seed(self.seed * 1_000_003 + step)
        self.module.train()
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * schedule(step, self.steps, self.warm_up)
        value = loss(step)
        self.optimizer.zero_grad(set_to_none=True)
        value.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.module.parameters(), CLIP)
        self.optimizer.step()
        return value.item()

    def _validate(self, step: int, validate: Callable[[], float]) -> float:
        self.module.eval()
        with torch.inference_mode():
            figure = validate()
        better = figure > self.best
        self.best, self._misses = (figure, 0) if better else (self.best, self._misses + 1)
        mean = sum(self._losses) / len(self._losses) if self._losses else None
        self._curve.append({"step": step, "of": self.steps, "loss": mean, "figure": figure})
        if better:
            save_weights(self.folder / BEST, self.module)
        self._keep(step)
        return figure

    def _keep(self, step: int) -> None:
        progress: Mapping[str, Any] = {
            "step": step, "best": self.best, "misses": self._misses, "curve": self._curve,
        }  # fmt: skip
        save_checkpoint(self.folder / CHECKPOINT, self.module, self.optimizer, progress)
        with write_beside(self.folder / CURVE) as beside:
            beside.write_text("".join(json.dumps(point) + "\n" for point in self._curve))


def remove_checkpoint(folder: Path) -> None:
    """Remove what only a resumed run needs, once the weights are saved; the curve stays."""
    for name in (CHECKPOINT, BEST):  # in this order: a checkpoint without its best is no use
        (folder / name).unlink(missing_ok=True)


def schedule(step: int, steps: int, warm_up: float) -> float:
    """The share of the peak learning rate: linear up over the warm-up, then linear down to zero."""
    up = max(int(steps * warm_up), 1)
    return min((step + 1) / up, (steps - step) / max(steps - up, 1))
